/** A repeating event with one-shot listeners. */
export class ChangeNotifier {
  /** Number of notifications so far. */
  count = 0;
  private listeners = new Set<() => void>();

  /** Calls `listener` once, at the next notification. Returns a function that removes it. */
  once(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  notify(): void {
    this.count += 1;
    const notified = this.listeners;
    this.listeners = new Set();
    for (const listener of notified) listener();
  }
}
