import type { CommitOutcome } from '../../src/stores/store.js';
import type { SimWorld } from '../world/world.js';

/** After the wall clock is set forward, a steady clock catches up at no more than 1.5 times real time; the rest is for drift. */
const SPEED_MAX = 1.51;
const ROUNDING_MS = 5;

/** Checks one store's clock: if the wall clock is set, leases must not all expire at once. */
export class ClockRateCheck {
  private readonly worldStartMs: number;

  constructor(
    private readonly world: SimWorld,
    /** Resolution of the clock: how far it jumps at once. */
    private readonly tickMs: number,
    /** The time of the store's clock when the check starts. Null: the first time that the store reports. */
    private storeStartMs: number | null = null,
  ) {
    this.worldStartMs = world.now_ms;
  }

  check(outcomes: readonly CommitOutcome[]): void {
    for (const { now_ms } of outcomes) {
      this.storeStartMs ??= now_ms;
      const advanceMsMax = (this.world.now_ms - this.worldStartMs + this.tickMs) * SPEED_MAX + ROUNDING_MS;
      if (now_ms - this.storeStartMs <= advanceMsMax) continue;
      this.world.reportViolation(
        'CLOCK',
        `the store clock ran ahead by ${now_ms - this.storeStartMs - advanceMsMax} ms`,
      );
    }
  }
}
