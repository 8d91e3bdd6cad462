interface WaitingTurn {
  readonly start: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs a few jobs at once; others wait. When one fails, all waiting jobs fail too: they need the same service, and if
 * it hangs, each would wait for its own timeout after the one before.
 */
export class ConcurrencyLimiter {
  private running = 0;
  private waiting: WaitingTurn[] = [];

  constructor(private readonly jobsAtOnce: number) {}

  async run<T>(job: () => Promise<T>): Promise<T> {
    if (this.running >= this.jobsAtOnce)
      await new Promise<void>((start, reject) => this.waiting.push({ start, reject }));
    else this.running += 1;
    try {
      return await job();
    } catch (error) {
      for (const { reject } of this.waiting.splice(0)) reject(error);
      throw error;
    } finally {
      this.passTurn();
    }
  }

  /** The first waiting job takes over this turn directly, so that a new caller cannot take the same turn. */
  private passTurn(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.running -= 1;
    else next.start();
  }
}
