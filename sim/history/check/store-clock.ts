import { msOf } from '../../../src/core/events/envelope.js';
import type { Effects } from './effects.js';

/** Where nobody ever was told of an event, the clocks cannot be compared: any time will do. */
const ANY = { from_ms: 0, to_ms: Date.parse('2100-01-01') };

/** So many of the quickest calls tell how far ahead the store's clock is at most. */
const QUICKEST = 20;

/**
 * The store's clock, as the driver can know it. An event's time is the store's when it was decided, or a little less.
 * The call that was told of it returned after that: so the store's clock is ahead of the driver's by at least the one
 * less the other, and of thousands of calls one comes near. It was asked for before that: so the store's clock is ahead
 * by no more than the event's time less the asking, and that little. The quickest calls leave the least between the two,
 * on a fast machine a millisecond; of several of them one is near enough. For the rest there is the tolerance.
 */
export class StoreClock {
  private readonly least_ms: number;
  private readonly most_ms: number;

  constructor(
    effects: Effects,
    private readonly tolerance_ms: number,
  ) {
    const bounds = [...effects.toldTo].map(([event, told]) => {
      const at_ms = msOf(event.timestamp);
      const { invoked_ms } = effects.askedBy.get(event) ?? told;
      return { least_ms: at_ms - told.returned_ms, most_ms: at_ms - invoked_ms };
    });
    bounds.sort((one, other) => one.most_ms - one.least_ms - (other.most_ms - other.least_ms));
    const quickest = bounds.slice(0, QUICKEST);
    this.least_ms = bounds.reduce((most, { least_ms }) => Math.max(most, least_ms), Number.NEGATIVE_INFINITY);
    this.most_ms = quickest.reduce((most, { most_ms }) => Math.max(most, most_ms), this.least_ms);
  }

  /** The least the store's clock can have shown at a moment of the driver's. */
  atLeast(driver_ms: number): number {
    return Number.isFinite(this.least_ms) ? driver_ms + this.least_ms - this.tolerance_ms : ANY.from_ms;
  }

  atMost(driver_ms: number): number {
    return Number.isFinite(this.most_ms) ? driver_ms + this.most_ms + this.tolerance_ms : ANY.to_ms;
  }
}
