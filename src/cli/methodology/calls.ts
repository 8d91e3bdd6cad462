import type { MethodologyClient } from '../../client/methodology.js';

/** The methodology's calls, wherever the project lives. */
export type ProjectCalls = Omit<MethodologyClient, 'init'>;

/** Those that change nothing; of those that can, only their dry run does so too. */
export type ReadOnlyCalls = Pick<
  ProjectCalls,
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
