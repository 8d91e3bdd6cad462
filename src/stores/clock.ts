/** Time as a process sees it. Injected everywhere, so that the simulator owns it. */
export interface ProcessClock {
  /** Wall-clock milliseconds: may step. */
  wallMs(): number;
  /** Milliseconds that only ever run forward, from an arbitrary start. */
  monotonicMs(): number;
}

export const systemClock: ProcessClock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** Time gained or lost on the wall clock is made up at half speed. */
const SLEW = 0.5;

/**
 * The clock of a store that lives in one process. It follows the wall clock, but never steps: a jump is made up
 * gradually, between half and one and a half times the true speed. Agents renew at 40 % of their lease, so
 * even then they renew in time, and a step of the wall clock cannot expire every lease at once.
 */
export class SteadyClock {
  private last_ms: number;
  private monotonic_ms: number;

  constructor(
    private readonly clock: ProcessClock,
    notBeforeMs = 0,
  ) {
    this.last_ms = Math.max(clock.wallMs(), notBeforeMs);
    this.monotonic_ms = clock.monotonicMs();
  }

  /** Whole milliseconds, never less than before. */
  now(): number {
    const monotonic_ms = this.clock.monotonicMs();
    const elapsed_ms = monotonic_ms - this.monotonic_ms;
    this.monotonic_ms = monotonic_ms;
    const behind_ms = this.clock.wallMs() - this.last_ms;
    this.last_ms += Math.min(Math.max(behind_ms, elapsed_ms * (1 - SLEW)), elapsed_ms * (1 + SLEW));
    return Math.floor(this.last_ms);
  }

  /** Recovery found events of a later time than the wall clock shows: time goes on from there. */
  advanceTo(at_ms: number): void {
    this.last_ms = Math.max(this.last_ms, at_ms);
  }
}
