import type { Environment } from '../runtime/environment.js';

const FIRST_PAUSE_MS = 500;
const PAUSE_MS_MAX = 10_000;
/** FIRST_PAUSE_MS doubled this many times reaches PAUSE_MS_MAX. */
const DOUBLINGS_MAX = 5;

/** The pause after consecutive failures. It is shortened at random, by at most half, so that retries spread out. */
export function storeRetryDelayMs(failures: number, random: number): number {
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, DOUBLINGS_MAX), PAUSE_MS_MAX);
  return pauseMs * (0.5 + random / 2);
}

/**
 * The retry pause of background work after a store outage. Commands never wait for it: each is sent to the store at once,
 * and a success ends the pause.
 */
export class Backoff {
  private failures = 0;
  private retryAtMs = 0;

  constructor(private readonly environment: Environment) {}

  /** Whether the last recorded outcome was a failure. Only polls record failures; a successful poll or command ends them. */
  get isFailing(): boolean {
    return this.failures > 0;
  }

  get isPausing(): boolean {
    return this.isFailing && this.environment.clock.monotonicMs() < this.retryAtMs;
  }

  recordFailure(): void {
    this.failures += 1;
    const random = Buffer.from(this.environment.randomBytes(4)).readUInt32LE() / 2 ** 32;
    this.retryAtMs = this.environment.clock.monotonicMs() + storeRetryDelayMs(this.failures, random);
  }

  recordSuccess(): void {
    this.failures = 0;
  }
}
