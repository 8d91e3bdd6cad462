import type { MethodologyClient } from '../../client/methodology.js';

/** The methodology calls, independent of where the project is stored. */
export type ProjectCalls = Omit<MethodologyClient, 'init'>;

/** The calls that change nothing. Of those that can, only the dry run is allowed. */
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
