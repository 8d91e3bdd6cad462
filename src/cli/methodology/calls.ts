import type { MethodologyCalls } from '../../client/methodology.js';

/** The methodology's calls, wherever the project lives. */
export type Calls = Omit<MethodologyCalls, 'init'>;

/** Those that change nothing; of those that can, only their dry run does so too. */
export type Reading = Pick<
  Calls,
  | 'start'
  | 'status'
  | 'feature'
  | 'health'
  | 'gantt'
  | 'zoom'
  | 'trace'
  | 'reviews'
  | 'gaps'
  | 'gapsFound'
  | 'release'
>;
