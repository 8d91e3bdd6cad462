import { describeEqualStores, FIXED_SEQUENCES } from './support/equal-stores.js';

describeEqualStores(0, FIXED_SEQUENCES);
