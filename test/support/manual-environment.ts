import type { Environment } from '../../src/coordinator/index.js';
import { ManualClock } from '../../src/stores/memory/manual-clock.js';

interface ManualTimer {
  readonly due_ms: number;
  readonly task: () => void;
}

/** The environment of a coordinator in which time and timers move only when a test says so. */
export class ManualEnvironment implements Environment {
  readonly clock: ManualClock;
  private readonly timers = new Set<ManualTimer>();
  private drawCount = 0;

  constructor(start: string) {
    this.clock = new ManualClock(Date.parse(start));
  }

  /** Different for every call, and the same in every run. */
  randomBytes(count: number): Uint8Array {
    this.drawCount += 1;
    const bytes = new Uint8Array(count);
    // Written at both ends, because an id of time and random bytes drops some of them.
    const view = new DataView(bytes.buffer);
    view.setUint32(0, this.drawCount);
    view.setUint32(count - 4, this.drawCount);
    return bytes;
  }

  setTimer(afterMs: number, task: () => void): () => void {
    const timer = { due_ms: this.clock.monotonicMs() + afterMs, task };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  yieldToEventLoop(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  advance(seconds: number): void {
    this.clock.advance(seconds * 1000);
  }

  /** Runs every timer that is due; timers that these set wait for the next call. */
  runDueTimers(): void {
    for (const timer of [...this.timers]) {
      if (timer.due_ms > this.clock.monotonicMs()) continue;
      this.timers.delete(timer);
      timer.task();
    }
  }
}
