import { currentCommit, readShard } from '../sim/suite.js';
import { describeEqualStores, GROUPS } from './support/equal-stores.js';

const { index, count } = readShard(process.env.PART, currentCommit());

describeEqualStores(
  GROUPS.filter((_, at) => at % count === index),
  count === 1,
);
