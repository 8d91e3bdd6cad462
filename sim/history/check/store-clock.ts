import { msOf } from '../../../src/core/events/envelope.js';
import type { CallEffects } from './effects.js';

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
export class ObservedStoreClock {
  private readonly offsetMinMs: number;
  private readonly offsetMaxMs: number;

  constructor(
    effects: CallEffects,
    private readonly toleranceMs: number,
  ) {
    const bounds = [...effects.acknowledgedBy].map(([event, acknowledgement]) => {
      const atMs = msOf(event.timestamp);
      const { invoked_ms } = effects.causedBy.get(event) ?? acknowledgement;
      return { least_ms: atMs - acknowledgement.returned_ms, most_ms: atMs - invoked_ms };
    });
    bounds.sort((one, other) => one.most_ms - one.least_ms - (other.most_ms - other.least_ms));
    const quickest = bounds.slice(0, QUICKEST);
    this.offsetMinMs = bounds.reduce(
      (most, { least_ms }) => Math.max(most, least_ms),
      Number.NEGATIVE_INFINITY,
    );
    this.offsetMaxMs = quickest.reduce((most, { most_ms }) => Math.max(most, most_ms), this.offsetMinMs);
  }

  /** The least the store's clock can have shown at a moment of the driver's. */
  atLeast(driverMs: number): number {
    return Number.isFinite(this.offsetMinMs) ? driverMs + this.offsetMinMs - this.toleranceMs : ANY.from_ms;
  }

  atMost(driverMs: number): number {
    return Number.isFinite(this.offsetMaxMs) ? driverMs + this.offsetMaxMs + this.toleranceMs : ANY.to_ms;
  }
}
