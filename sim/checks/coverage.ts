/** States that the seeds together must reach: a simulation that never reaches them proves nothing about them. */
export const COVERAGE_GOALS = [
  'takeover',
  'sweep before takeover',
  'takeover before sweep',
  'takeover during suspend',
  'late accept',
  'stale reject',
  'future generation',
  'replayed reply',
  'forgotten claim resumed',
  'parked',
  'adopted',
  'failure hold',
  'escalated',
  'reviewed',
  'merge race',
  'completed again',
  'limit reached',
  'permit recovered',
  'conflict retried',
  'unknown retried',
  'crash during commit',
  'torn tail cut',
  'snapshot written',
  'batches of several projects in one sync',
  'write-ahead log replayed',
  'corruption refused',
  'disk full',
  'write failure',
  'sync failure',
  'sync stalled',
  'crash after snapshot',
  'second writer refused',
  'lossy failover',
  'generation granted twice',
  'old handle refused',
  'revoked while waiting',
  'checkpoint agrees',
  'crash at checkpoint',
  'sink down',
  'old disk restored',
  'loss noticed',
  'loss accepted',
] as const;

/** Coverage goals for runs of executors, which only the seeds of the mode `runs` have. */
export const RUN_GOALS = [
  'run converged',
  'run escalated',
  'run taken over',
  'step retried',
  'late step refused',
  'executor crash',
] as const;
export type CoverageGoal = (typeof COVERAGE_GOALS)[number] | (typeof RUN_GOALS)[number];

export class CoverageCounter {
  readonly counts: Partial<Record<CoverageGoal, number>> = {};

  hit(goal: CoverageGoal): void {
    this.counts[goal] = (this.counts[goal] ?? 0) + 1;
  }
}
