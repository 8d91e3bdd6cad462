import { currentCommit, readPart } from '../sim/suite.js';
import { describeMemoryAndFileEquivalence, SEQUENCE_GROUPS } from './support/equal-stores.js';

const { index, count } = readPart(process.env.PART, currentCommit());

describeMemoryAndFileEquivalence(
  SEQUENCE_GROUPS.filter((_, at) => at % count === index),
  count === 1,
);
