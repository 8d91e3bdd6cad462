/** Something that happens again and again, and that some wait for. */
export class ChangeNotifier {
  /** How often it has happened. */
  count = 0;
  private listeners = new Set<() => void>();

  /** Calls `wake` at the next firing, once. Returns a way to stop waiting. */
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
