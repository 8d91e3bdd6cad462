/** Notifies listeners of changes. */
export class ChangeNotifier {
  /** Number of notifications so far. */
  count = 0;
  private listeners = new Set<() => void>();

  /** Calls `listener` once, at the next notification. Returns a function that removes it. */
  once(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Calls `listener` at every notification. Returns a function that removes it. */
  on(listener: () => void): () => void {
    let stop: () => void;
    const onNotify = (): void => {
      stop = this.once(onNotify);
      listener();
    };
    stop = this.once(onNotify);
    return () => stop();
  }

  notify(): void {
    this.count += 1;
    const notified = this.listeners;
    this.listeners = new Set();
    for (const listener of notified) listener();
  }
}
