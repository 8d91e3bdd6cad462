import type { ProcessClock } from '../stores/clock.js';
import type { Store } from '../stores/store.js';

/**
 * The store's time as the coordinator knows it: the last it was told, plus what has passed since on its own
 * monotonic clock. Good enough to decide with; the commit compares with the store's clock itself.
 */
export class StoreTime {
  private storeMs = 0;
  private syncedAtMs = 0;

  constructor(private readonly clock: ProcessClock) {}

  sync(nowMs: number): void {
    this.storeMs = nowMs;
    this.syncedAtMs = this.clock.monotonicMs();
  }

  now(): number {
    return Math.floor(this.storeMs + (this.clock.monotonicMs() - this.syncedAtMs));
  }
}

const CLOCK_SKEW_MS_MAX = 1000;

/** Coordinators that bring their own clocks must not lose claims to each other for being a little apart. */
export const skewMarginMs = ({ capabilities }: Pick<Store, 'capabilities'>): number =>
  capabilities.clock === 'coordinator' ? CLOCK_SKEW_MS_MAX : 0;
