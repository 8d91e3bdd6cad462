/** Faults that can be switched off to find out which of them a failure needs. */
export const FAULTS = [
  /** The network loses, duplicates and delays messages, and cuts agents off for a while. */
  'loss',
  'double',
  'delay',
  'partition',
  /** Processes crash: of coordinators, of executors, and of the serialiser of an inbox. */
  'crash',
  /** A crash at a chosen moment: around a commit, a checkpoint or a snapshot, or between two steps of an inbox command. */
  'ambush',
  /** Processes of coordinators are frozen for a while. */
  'freeze',
  /** The wall clock jumps, or the clock of the store advances in coarse ticks. */
  'clock_step',
  'coarse_clock',
  /** Some crashes are also power losses, which discard unsynced data. */
  'power',
  'disk_full',
  'write_failure',
  'sync_failure',
  /** Some syncs take much longer than usual. */
  'stall',
  /** Some restarts find the log damaged. */
  'rot',
  /** A second process tries to open the log. */
  'rival',
  /** The connections between coordinators and a shared store break. */
  'link',
  /** A replica that lacks the last commits replaces the shared store. */
  'failover',
  'agent_freeze',
  /** Agents continue to use handles that they have lost, or that were never granted. */
  'zombies',
  /** People act on the project: they hold, reset, reassign and review work. */
  'humans',
  'plan_changes',
  'policy_changes',
  'close_session',
  /** A dependency of work in progress is reset and completed again. */
  'redo',
  'second_tenant',
  /** Credentials are revoked while their calls wait. */
  'revoked',
  /** An old disk is copied back. */
  'restore',
] as const;
export type Fault = (typeof FAULTS)[number];
