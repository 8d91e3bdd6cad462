import { describeEqualStores, GROUPS } from './support/equal-stores.js';

/** One group that meets every outcome by itself. */
describeEqualStores(GROUPS.slice(3, 4));
