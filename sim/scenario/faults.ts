/** Faults that can be switched off to find out which of them a failure needs. */
export const FAULTS = [
  'loss',
  'double',
  'delay',
  'partition',
  'crash',
  /** A crash at a chosen moment: around a commit, a checkpoint or a snapshot, or between two steps of an inbox command. */
  'ambush',
  'freeze',
  'clock_step',
  'coarse_clock',
  'power',
  'disk_full',
  'write_failure',
  'sync_failure',
  'stall',
  'rot',
  'rival',
  'link',
  'failover',
  'agent_freeze',
  'zombies',
  'humans',
  'plan_changes',
  'policy_changes',
  'close_session',
  'redo',
  'second_tenant',
  'revoked',
  /** An old disk is copied back. */
  'restore',
] as const;
export type Fault = (typeof FAULTS)[number];
