import type { ProcessClock } from '../../stores/clock.js';
import type { Store } from '../../stores/store.js';

/**
 * An estimate of the store's time: the last reported value, plus the time that has passed on the local monotonic clock.
 * Commands are decided with it; the commit compares with the store's own clock.
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

/**
 * The clock difference for which the rules of a store's projects allow. Coordinators that use their own clocks must not
 * expire each other's claims because of small differences.
 */
export const skewMarginMs = ({ capabilities }: Pick<Store, 'capabilities'>): number =>
  capabilities.clock === 'coordinator' ? CLOCK_SKEW_MS_MAX : 0;
