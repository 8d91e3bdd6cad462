import { describeEqualStores, FIXED_SEQUENCES, LONG_SEQUENCES } from './support/equal-stores.js';

describeEqualStores(FIXED_SEQUENCES, LONG_SEQUENCES);
