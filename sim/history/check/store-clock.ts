import { msOf } from '../../../src/core/events/envelope.js';
import type { CallEffects } from './effects.js';

/** If no event was ever acknowledged, the clocks cannot be compared: any time is possible. */
const ANY_TIME = { from_ms: 0, to_ms: Date.parse('2100-01-01') };

/** The number of calls that give the upper bound of the clock offset: those with the smallest gap between both bounds. */
const CALLS_FOR_UPPER_BOUND = 20;

/**
 * Bounds the offset of the store's clock from the driver's. An event's timestamp is the store's time at its decision, or
 * slightly earlier. The call that reported the event returned after the decision, so the offset is at least timestamp
 * minus return: the largest such value of all calls is the lower bound.
 *
 * The call that caused the event was sent before the decision, so the offset is at most timestamp minus invocation, apart
 * from how much earlier the timestamp may be. The upper bound is the largest of these values among the calls with the
 * smallest gap between both bounds. The tolerance covers the rest.
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
    const tightestBounds = bounds.slice(0, CALLS_FOR_UPPER_BOUND);
    this.offsetMinMs = bounds.reduce(
      (max, { offset_min_ms }) => Math.max(max, offset_min_ms),
      Number.NEGATIVE_INFINITY,
    );
    this.offsetMaxMs = tightestBounds.reduce(
      (max, { offset_max_ms }) => Math.max(max, offset_max_ms),
      this.offsetMinMs,
    );
  }

  /** The earliest time that the store's clock can have shown at this time of the driver's clock. */
  earliestMs(driverMs: number): number {
    return Number.isFinite(this.offsetMinMs)
      ? driverMs + this.offsetMinMs - this.toleranceMs
      : ANY_TIME.from_ms;
  }

  /** The latest time that the store's clock can have shown at this time of the driver's clock. */
  latestMs(driverMs: number): number {
    return Number.isFinite(this.offsetMaxMs)
      ? driverMs + this.offsetMaxMs + this.toleranceMs
      : ANY_TIME.to_ms;
  }
}
