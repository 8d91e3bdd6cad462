/** Something that happens again and again, and that some wait for. */
export class Signal {
  /** How often it has happened. */
  count = 0;
  private waiting = new Set<() => void>();

  /** Calls `wake` at the next firing, once. Returns a way to stop waiting. */
  once(wake: () => void): () => void {
    this.waiting.add(wake);
    return () => this.waiting.delete(wake);
  }

  fire(): void {
    this.count += 1;
    const woken = this.waiting;
    this.waiting = new Set();
    for (const wake of woken) wake();
  }
}
