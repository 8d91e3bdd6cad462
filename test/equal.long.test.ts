import { currentCommit, readShard } from '../sim/suite.js';
import { describeEqualStores, GROUPS } from './support/equal-stores.js';

const { index, of } = readShard(process.env.PART, currentCommit());

describeEqualStores(
  GROUPS.filter((_, at) => at % of === index),
  of === 1,
);
