interface WaitingTurn {
  readonly start: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs a few jobs concurrently; others wait. If one fails, all waiting jobs fail too: they need the same service, and if
 * the service hangs, they would reach their timeouts only one after the other.
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

  /** Passes the turn of an ended job directly to the first waiting job, so that no new caller can take it in between. */
  private passTurn(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.running -= 1;
    else next.start();
  }
}
