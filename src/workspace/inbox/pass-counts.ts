/** The counts of what one pass did. */
export class PassCounts {
  /** Expired claims that the pass recorded. */
  expired = 0;
  /** Files that were not valid commands. */
  broken = 0;
  /** Number of commands per outcome code. */
  readonly outcomes: Record<string, number> = {};

  get commands(): number {
    return Object.values(this.outcomes).reduce((sum, count) => sum + count, 0);
  }

  get isEmpty(): boolean {
    return this.commands === 0 && this.broken === 0 && this.expired === 0;
  }

  add({ outcomes, broken, expired }: PassCounts): void {
    this.broken += broken;
    this.expired += expired;
    for (const [code, times] of Object.entries(outcomes)) this.count(code, times);
  }

  count(code: string, times = 1): void {
    this.outcomes[code] = (this.outcomes[code] ?? 0) + times;
  }

  toJSON(): object {
    const { commands, outcomes, broken, expired } = this;
    return { commands, outcomes, broken, expired };
  }
}
