import type { RunOptions } from './scenario/scenario.js';

export interface Regression extends RunOptions {
  /** What was wrong when this run failed. */
  readonly was: string;
}

/** Runs that once failed, kept so that they never fail again. */
export const REGRESSIONS: readonly Regression[] = [];
