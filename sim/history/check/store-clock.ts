import { msOf } from '../../../src/core/events/envelope.js';
import type { Effects } from './effects.js';

/** Where nobody ever was told of an event, the clocks cannot be compared: any time will do. */
const ANY = { from_ms: 0, to_ms: Date.parse('2100-01-01') };

/**
 * The store's clock, as the driver can know it. An event's time is the store's when it was decided, or a little less,
 * and the call that was told of it returned after that: so the store's clock is ahead of the driver's by at least the
 * one less the other, and of thousands of calls one comes within milliseconds. For the rest there is the tolerance.
 */
export class StoreClock {
  private readonly ahead_ms: number;

  constructor(
    effects: Effects,
    private readonly tolerance_ms: number,
  ) {
    let ahead_ms = Number.NEGATIVE_INFINITY;
    for (const [event, { returned_ms }] of effects.toldTo) {
      ahead_ms = Math.max(ahead_ms, msOf(event.timestamp) - returned_ms);
    }
    this.ahead_ms = ahead_ms;
  }

  /** The least the store's clock can have shown at a moment of the driver's. */
  atLeast(driver_ms: number): number {
    return Number.isFinite(this.ahead_ms) ? driver_ms + this.ahead_ms - this.tolerance_ms : ANY.from_ms;
  }

  atMost(driver_ms: number): number {
    return Number.isFinite(this.ahead_ms) ? driver_ms + this.ahead_ms + this.tolerance_ms : ANY.to_ms;
  }
}
