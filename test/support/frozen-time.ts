import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Serializable, setEnvironmentData } from 'node:worker_threads';
import { onTestFinished, vi } from 'vitest';

/** The same name as in frozen-clock.cjs. */
const NAME = 'frozen-clock';
const NODE_OPTIONS = `--require=${JSON.stringify(join(import.meta.dirname, 'frozen-clock.cjs'))}`;

const nanoseconds = (seconds: number): bigint => BigInt(Math.round(seconds * 1e9));

/**
 * Freezes the clocks of the test's process and of the threads it starts until the test advances them, for servers,
 * coordinators and clients alike. Timers still run in real time, but see no time pass. A process that is started
 * meanwhile has a frozen clock of its own (frozen-clock.cjs).
 */
export class FrozenTime {
  private readonly clock = new BigInt64Array(new SharedArrayBuffer(8));
  private advancedMs = 0;
  private isOver = false;

  private constructor() {
    const startMs = performance.now();
    this.clock[0] = process.hrtime.bigint();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    const readings = [
      vi.spyOn(performance, 'now').mockImplementation(() => startMs + this.advancedMs),
      vi.spyOn(process.hrtime, 'bigint').mockImplementation(() => Atomics.load(this.clock, 0)),
    ];
    setEnvironmentData(NAME, this.clock.buffer as unknown as Serializable);
    vi.stubEnv('NODE_OPTIONS', NODE_OPTIONS);
    onTestFinished(() => {
      this.isOver = true;
      vi.useRealTimers();
      for (const reading of readings) reading.mockRestore();
      setEnvironmentData(NAME, undefined as unknown as Serializable);
      vi.unstubAllEnvs();
    });
  }

  /** Freezes the time until the end of the test. */
  static begin(): FrozenTime {
    return new FrozenTime();
  }

  advance(seconds: number): void {
    this.advancedMs += seconds * 1000;
    vi.setSystemTime(Date.now() + seconds * 1000);
    Atomics.add(this.clock, 0, nanoseconds(seconds));
  }

  /** Advances the time second by second until the promise settles. */
  async advanceUntil<T>(ended: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
    };
    ended.then(settle, settle);
    while (!isSettled && !this.isOver) {
      this.advance(1);
      await pause(1);
    }
    return ended;
  }
}
