import { msOf } from '../../../src/core/events/envelope.js';
import type { CallEffects } from './effects.js';

/** If no event was ever acknowledged, the clocks cannot be compared: any time is possible. */
const ANY = { from_ms: 0, to_ms: Date.parse('2100-01-01') };

/** How many of the fastest calls give the upper bound of the clock offset. */
const QUICKEST = 20;

/**
 * The store's clock as the driver can estimate it. An event's timestamp is the store's time of the decision, or
 * slightly earlier. The call that was told of the event returned after it, so the store's clock is ahead of the
 * driver's by at least timestamp minus return; among thousands of calls one comes close. The call was invoked before
 * it, so the store's clock is ahead by at most timestamp minus invocation, plus that slight difference. The fastest
 * calls leave the smallest gap between the two, about a millisecond on a fast machine, and one of several is close
 * enough. The tolerance covers the rest.
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
      return { offset_min_ms: atMs - acknowledgement.returned_ms, offset_max_ms: atMs - invoked_ms };
    });
    bounds.sort(
      (one, other) => one.offset_max_ms - one.offset_min_ms - (other.offset_max_ms - other.offset_min_ms),
    );
    const quickest = bounds.slice(0, QUICKEST);
    this.offsetMinMs = bounds.reduce(
      (max, { offset_min_ms }) => Math.max(max, offset_min_ms),
      Number.NEGATIVE_INFINITY,
    );
    this.offsetMaxMs = quickest.reduce(
      (max, { offset_max_ms }) => Math.max(max, offset_max_ms),
      this.offsetMinMs,
    );
  }

  /** The earliest time that the store's clock can have shown at this time of the driver's clock. */
  earliestMs(driverMs: number): number {
    return Number.isFinite(this.offsetMinMs) ? driverMs + this.offsetMinMs - this.toleranceMs : ANY.from_ms;
  }

  /** The latest time that the store's clock can have shown at this time of the driver's clock. */
  latestMs(driverMs: number): number {
    return Number.isFinite(this.offsetMaxMs) ? driverMs + this.offsetMaxMs + this.toleranceMs : ANY.to_ms;
  }
}
