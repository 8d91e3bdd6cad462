import type { ProcessClock } from '../stores/clock.js';
import type { Store } from '../stores/store.js';

/**
 * The store's time as the coordinator knows it: the last it was told, plus what has passed since on its own
 * monotonic clock. Good enough to decide with; the commit compares with the store's clock itself.
 */
export class StoreTime {
  private told_ms = 0;
  private heard_ms = 0;

  constructor(private readonly clock: ProcessClock) {}

  tell(now_ms: number): void {
    this.told_ms = now_ms;
    this.heard_ms = this.clock.monotonicMs();
  }

  now(): number {
    return Math.floor(this.told_ms + (this.clock.monotonicMs() - this.heard_ms));
  }
}

const CLOCKS_APART_MS = 1000;

/** Coordinators that bring their own clocks must not lose claims to each other for being a little apart. */
export const skewMarginMs = ({ capabilities }: Pick<Store, 'capabilities'>): number =>
  capabilities.clock === 'coordinator' ? CLOCKS_APART_MS : 0;
