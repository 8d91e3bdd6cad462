import { randomFillSync } from 'node:crypto';
import { type ProcessClock, systemClock } from '../../stores/clock.js';

/** The coordinator's access to time, randomness and scheduling, replaceable by a simulator. */
export interface Environment {
  readonly clock: ProcessClock;
  randomBytes(count: number): Uint8Array;
  /** Runs `task` once after about `afterMs`. Returns a function that cancels it. */
  setTimer(afterMs: number, task: () => void): () => void;
  /** Resolves after everything that is ready to run has run. Commands that arrive meanwhile share the next batch. */
  yieldToEventLoop(): Promise<void>;
}

const POOL_BYTES = 8192;
const pool = new Uint8Array(POOL_BYTES);
let poolAt = POOL_BYTES;

export const systemEnvironment: Environment = {
  clock: systemClock,
  randomBytes(count) {
    if (poolAt + count > POOL_BYTES) {
      randomFillSync(pool);
      poolAt = 0;
    }
    poolAt += count;
    return pool.slice(poolAt - count, poolAt);
  },
  setTimer(afterMs, task) {
    const timer = setTimeout(task, afterMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
  yieldToEventLoop: () => new Promise((resolve) => setImmediate(resolve)),
};
