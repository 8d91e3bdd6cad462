import type { Outcome } from '../../src/stores/store.js';
import type { World } from '../world/world.js';

/** A steady clock makes up for a step at no more than this, and a quartz is never quite right. */
const SPEED_MAX = 1.51;
const ROUNDING_MS = 5;

/** Watches one store's clock: however the wall clock is set, leases must not all run out at once. */
export class Pace {
  private readonly since_ms: number;

  constructor(
    private readonly world: World,
    /** How far the clock leaps at once. */
    private readonly tick_ms: number,
    /** Null: the first time that is told. */
    private start_ms: number | null = null,
  ) {
    this.since_ms = world.now_ms;
  }

  told(outcomes: readonly Outcome[]): void {
    for (const { now_ms } of outcomes) {
      this.start_ms ??= now_ms;
      const passed_ms = (this.world.now_ms - this.since_ms + this.tick_ms) * SPEED_MAX + ROUNDING_MS;
      if (now_ms - this.start_ms <= passed_ms) continue;
      this.world.violate('CLOCK', `the store’s clock ran ahead by ${now_ms - this.start_ms - passed_ms} ms`);
    }
  }
}
