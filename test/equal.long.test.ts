import { currentCommit, readPart } from '../sim/suite.js';
import { describeEqualStores, GROUPS } from './support/equal-stores.js';

const { index, count } = readPart(process.env.PART, currentCommit());

describeEqualStores(
  GROUPS.filter((_, at) => at % count === index),
  count === 1,
);
