/** States that the seeds together must reach: a simulation that never meets them proves nothing about them. */
export const SOMETIMES = [
  'takeover',
  'sweep before takeover',
  'takeover before sweep',
  'takeover during suspend',
  'late accept',
  'stale reject',
  'future generation',
  'replayed reply',
  'parked',
  'adopted',
  'poison hold',
  'escalated',
  'reviewed',
  'merge race',
  'done anew',
  'limit reached',
  'permit recovered',
  'conflict retried',
  'unknown retried',
  'crash during commit',
  'torn tail cut',
  'snapshot written',
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
] as const;
export type Sometimes = (typeof SOMETIMES)[number];

export class Reached {
  readonly counts: Partial<Record<Sometimes, number>> = {};

  hit(state: Sometimes): void {
    this.counts[state] = (this.counts[state] ?? 0) + 1;
  }
}
