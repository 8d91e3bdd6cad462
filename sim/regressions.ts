import type { SeedRunOptions } from './scenario/scenario.js';

export interface Regression extends SeedRunOptions {
  /** The bug that made this run fail. */
  readonly bug: string;
}

/** These runs failed before the simulator could revoke credentials. Without that fault they replay identically. */
const BEFORE_REVOCATION = { without: ['revoked'] } as const;

/** Runs that once failed, replayed so that the bugs do not come back. */
export const REGRESSIONS: readonly Regression[] = [
  {
    seed: 5,
    mode: 'safety',
    ...BEFORE_REVOCATION,
    commands_max: 130,
    bug: 'A view that could not be brought up to date after a commit left an unheard rejection and unanswered commands.',
  },
  {
    seed: 70,
    mode: 'safety',
    ...BEFORE_REVOCATION,
    commands_max: 130,
    bug: 'Granted work was answered with "nothing happened" when its briefing could not be read.',
  },
  {
    seed: 20,
    mode: 'safety',
    ...BEFORE_REVOCATION,
    commands_max: 130,
    bug: 'An agent at work in a track under two sessions lost its place there when one of its claims ended.',
  },
  {
    seed: 5,
    mode: 'liveness',
    ...BEFORE_REVOCATION,
    bug: 'Two units of one batch stood on each other; the first was refused, and the second took another’s head for its.',
  },
  {
    seed: 1231,
    mode: 'liveness',
    ...BEFORE_REVOCATION,
    commands_max: 130,
    bug: 'A place in a track was given up although an earlier command of the same batch had just taken it.',
  },
  {
    seed: 1153,
    mode: 'safety',
    ...BEFORE_REVOCATION,
    commands_max: 130,
    bug: 'A merge was granted on a subtask whose result an earlier command of the same batch was only about to hand in.',
  },
  {
    seed: 1082,
    mode: 'liveness',
    ...BEFORE_REVOCATION,
    commands_max: 130,
    bug: 'A candidate was approved after the result it was built on had been reset.',
  },
  {
    seed: 1242,
    mode: 'safety',
    ...BEFORE_REVOCATION,
    commands_max: 130,
    bug: 'A crash between the move of a sealed segment and the sync of its name, then a loss of power: the segment was gone.',
  },
  {
    seed: 2564,
    mode: 'safety',
    ...BEFORE_REVOCATION,
    commands_max: 130,
    bug: 'The first sealed segment was moved into a folder whose own name was not durable yet.',
  },
  {
    seed: 50,
    mode: 'safety',
    ...BEFORE_REVOCATION,
    bug: 'Grants decided by a clock far behind the store’s were over when committed; after a crash the clock stood earlier, and they were live again beyond the limit.',
  },
  {
    seed: 141,
    mode: 'liveness',
    ...BEFORE_REVOCATION,
    bug: 'Ready work was granted to whoever had waited longest, who was gone: nobody who was there ever got it.',
  },
  {
    seed: 913,
    mode: 'liveness',
    ...BEFORE_REVOCATION,
    bug: 'A late candidate that had to wait for a human took its place again though others had filled the tenant.',
  },
];
