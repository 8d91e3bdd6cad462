/** What a pass has done, in numbers. */
export class Tally {
  /** Silent claims that it wrote down. */
  expired = 0;
  /** Files that were no commands. */
  broken = 0;
  /** How many commands ended in each code. */
  readonly outcomes: Record<string, number> = {};

  get commands(): number {
    return Object.values(this.outcomes).reduce((sum, count) => sum + count, 0);
  }

  count(code: string): void {
    this.outcomes[code] = (this.outcomes[code] ?? 0) + 1;
  }

  toJSON(): object {
    const { commands, outcomes, broken, expired } = this;
    return { commands, outcomes, broken, expired };
  }
}
