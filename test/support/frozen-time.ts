import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Serializable, setEnvironmentData } from 'node:worker_threads';
import { onTestFinished, vi } from 'vitest';

/** As still-clock.cjs has it. */
const NAME = 'still-clock';
const NODE_OPTIONS = `--require=${JSON.stringify(join(import.meta.dirname, 'still-clock.cjs'))}`;

const nanoseconds = (seconds: number): bigint => BigInt(Math.round(seconds * 1e9));

/**
 * The time of the test's own process and of the threads that its sources start: it stands still until the test moves it,
 * for servers, coordinators and clients alike. Timers go on by real time, and find that none has passed. A process that
 * is started meanwhile has a still clock of its own (still-clock.cjs).
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

  /** Until the end of the test. */
  static begin(): FrozenTime {
    return new FrozenTime();
  }

  advance(seconds: number): void {
    this.advancedMs += seconds * 1000;
    vi.setSystemTime(Date.now() + seconds * 1000);
    Atomics.add(this.clock, 0, nanoseconds(seconds));
  }

  /** Lets a second pass every now and then, until it is settled. */
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
