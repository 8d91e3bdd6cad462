import { randomFillSync } from 'node:crypto';
import { type ProcessClock, systemClock } from '../stores/clock.js';

/** Everything the coordinator takes from the world around it, so that a simulator can be that world. */
export interface Environment {
  readonly clock: ProcessClock;
  randomBytes(count: number): Uint8Array;
  /** Runs `task` once, after about so long. Returns a way to call it off. */
  setTimer(afterMs: number, task: () => void): () => void;
  /** Resolves after everything that is ready to run has run: what arrives meanwhile shares the next batch. */
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
