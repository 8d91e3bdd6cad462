import type { SeedRunOptions } from './scenario/scenario.js';

interface Regression extends SeedRunOptions {
  /** The bug that made this run fail. */
  readonly bug: string;
}

/** These runs failed before the simulator could revoke credentials. Without that fault they replay identically. */
const BEFORE_REVOCATION = { without: ['revoked'] } as const;

/** This run failed before the mode `runs` could lose history. Without those faults it replays identically. */
const BEFORE_LOSSES_OF_RUNS = { without: ['failover', 'restore'] } as const;

/** Runs that once failed, replayed so that the bugs do not come back. */
export const REGRESSIONS: readonly Regression[] = [
  {
    seed: 5,
    mode: 'safety',
    ...BEFORE_REVOCATION,
    commands_max: 130,
    bug: 'A view that could not be refreshed after a commit left an unhandled rejection and unanswered commands.',
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
    bug: 'An agent that worked in a track under two sessions lost its permit there when one of its claims ended.',
  },
  {
    seed: 5,
    mode: 'liveness',
    ...BEFORE_REVOCATION,
    bug: 'Of two dependent transactions of one batch the first was refused, and the second used a wrong head.',
  },
  {
    seed: 1231,
    mode: 'liveness',
    ...BEFORE_REVOCATION,
    commands_max: 130,
    bug: 'A track permit was released although an earlier command of the same batch had just taken it.',
  },
  {
    seed: 1153,
    mode: 'safety',
    ...BEFORE_REVOCATION,
    commands_max: 130,
    bug: 'A merge was granted on a subtask whose result an earlier command of the same batch had not yet committed.',
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
    bug: 'A crash between moving a closed segment and syncing its name, then a power failure: the segment was lost.',
  },
  {
    seed: 2564,
    mode: 'safety',
    ...BEFORE_REVOCATION,
    commands_max: 130,
    bug: 'The first closed segment was moved into a folder whose own name was not durable yet.',
  },
  {
    seed: 50,
    mode: 'safety',
    ...BEFORE_REVOCATION,
    bug: 'Grants decided by a clock far behind the store had expired when committed; after a crash the clock was earlier, and they were live again beyond the limit.',
  },
  {
    seed: 141,
    mode: 'liveness',
    ...BEFORE_REVOCATION,
    bug: 'Ready work was granted to the longest waiter, which had disconnected: no connected agent ever got it.',
  },
  {
    seed: 913,
    mode: 'liveness',
    ...BEFORE_REVOCATION,
    bug: 'A late candidate that waited for a person took a permit again although the tenant was at its limit.',
  },
  {
    seed: 2334835,
    mode: 'liveness',
    bug: 'A session whose held claim an operator had ended counted as active permanently, so that the limit of sessions was used up.',
  },
  {
    seed: 849855,
    mode: 'inbox',
    bug: 'A refused result without a valid handle was recorded again after a crash: its sender was not recognised.',
  },
  {
    seed: 185,
    mode: 'liveness',
    bug: 'Of two syncs of a file at the same time one failed. The other succeeded, and the write-ahead log was emptied although the file lacked what only that log had.',
  },
  {
    seed: 5784124,
    mode: 'safety',
    bug: 'A loss of history was recorded without a signature, because a write error had prevented the enrolment of the key: it never counted.',
  },
  {
    seed: 4370079,
    mode: 'runs',
    ...BEFORE_LOSSES_OF_RUNS,
    bug: 'The next executor requested another review of a candidate that a person had rejected, and its run never ended.',
  },
  {
    seed: 5063,
    mode: 'runs',
    bug: 'An executor that had been frozen recorded that an ended run waits for a review.',
  },
  {
    seed: 5189,
    mode: 'runs',
    bug: 'An executor threw "the log has no run" after the store had been restored from a copy without its run.',
  },
  {
    seed: 5194,
    mode: 'runs',
    bug: 'A step of an executor from before a loss of history was refused with NO_CLAIM, although the edge had a claim.',
  },
  {
    seed: 4,
    mode: 'runs',
    bug: 'The simulator took the handle that a repeated request had got after a loss of history for a handle from before that loss.',
  },
  {
    seed: 2000685,
    mode: 'safety',
    commands_max: 113,
    bug: 'A late candidate that needed a review entered a track that was full.',
  },
  {
    seed: 3100912,
    mode: 'safety',
    commands_max: 33,
    bug: 'A coordinator that had read a claim but not its session refused the owner when it repeated the claim.',
  },
  {
    seed: 9400721,
    mode: 'safety',
    commands_max: 37,
    bug: 'A durable renewal was reported to its caller as not written, because the write of a later command failed.',
  },
  {
    seed: 9807847,
    mode: 'safety',
    commands_max: 120,
    bug: 'The simulator made a backup of a disk while that disk had the damage of a start that was to be refused.',
  },
  {
    seed: 9903325,
    mode: 'liveness',
    commands_max: 120,
    bug: 'The simulator stopped waiting for a run while unused sessions still filled the limit of sessions.',
  },
  {
    seed: 20000731,
    mode: 'safety',
    commands_max: 120,
    bug: 'The simulator demanded a permit for the escalation of a claim that a new policy had kept.',
  },
  {
    seed: 20003813,
    mode: 'safety',
    commands_max: 120,
    bug: 'A `next` that waited for a plan was refused as contended after the write of the plan had failed.',
  },
];

/** A run that `npm test` can afford: `npm run test:long` plays the other runs. */
export const isShort = ({ mode, commands_max }: SeedRunOptions): boolean =>
  mode === 'runs' || commands_max !== undefined;
