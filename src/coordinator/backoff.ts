import type { Environment } from './environment.js';

const FIRST_MS = 500;
const LONGEST_MS = 10_000;
/** Doubling this often reaches the longest pause. */
const DOUBLINGS_MAX = 5;

/** How long to wait after so many failures in a row: between half the pause and all of it, so that no two stay in step. */
export function backoffMs(failures: number, random: number): number {
  const pauseMs = Math.min(FIRST_MS * 2 ** Math.min(failures - 1, DOUBLINGS_MAX), LONGEST_MS);
  return pauseMs * (0.5 + random / 2);
}

/**
 * When background work may ask a store again that did not answer. A caller's command never waits for it: it is answered
 * with what the store says now, and one that succeeds ends the pause.
 */
export class Backoff {
  private failures = 0;
  private retryAtMs = 0;

  constructor(private readonly environment: Environment) {}

  /** The store did not answer the last time. */
  get isFailing(): boolean {
    return this.failures > 0;
  }

  get isPausing(): boolean {
    return this.isFailing && this.environment.clock.monotonicMs() < this.retryAtMs;
  }

  failed(): void {
    this.failures += 1;
    const random = Buffer.from(this.environment.randomBytes(4)).readUInt32LE() / 2 ** 32;
    this.retryAtMs = this.environment.clock.monotonicMs() + backoffMs(this.failures, random);
  }

  succeeded(): void {
    this.failures = 0;
  }
}
