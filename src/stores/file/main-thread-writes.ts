/** A larger write takes long enough to be worth a thread. */
const MAIN_THREAD_BYTES_MAX = 64 * 1024;
const MAIN_THREAD_MS_MAX = 20;
const THREADS_FOR_MS = 1000;

/**
 * Decides which writes run in the event loop. The operating system buffers a small write within microseconds; passing it
 * to a thread and back takes many times as long. But a system that is short of memory makes writers wait for the disk:
 * after one slow write, threads do the writes for a while, so that the event loop does not wait.
 */
export class MainThreadWrites {
  private threadsUntilMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly nowMs: () => number) {}

  isOnMainThread(bytes: number): boolean {
    return bytes <= MAIN_THREAD_BYTES_MAX && this.nowMs() >= this.threadsUntilMs;
  }

  run<T>(write: () => T): T {
    const startMs = this.nowMs();
    try {
      return write();
    } finally {
      const endedMs = this.nowMs();
      if (endedMs - startMs > MAIN_THREAD_MS_MAX) this.threadsUntilMs = endedMs + THREADS_FOR_MS;
    }
  }
}
