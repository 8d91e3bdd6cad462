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
  private lastMs: number;
  private monotonicMs: number;

  constructor(
    private readonly clock: ProcessClock,
    notBeforeMs = 0,
  ) {
    this.lastMs = Math.max(clock.wallMs(), notBeforeMs);
    this.monotonicMs = clock.monotonicMs();
  }

  /** Whole milliseconds, never less than before. */
  now(): number {
    const monotonicMs = this.clock.monotonicMs();
    const elapsedMs = monotonicMs - this.monotonicMs;
    this.monotonicMs = monotonicMs;
    const behindMs = this.clock.wallMs() - this.lastMs;
    this.lastMs += Math.min(Math.max(behindMs, elapsedMs * (1 - SLEW)), elapsedMs * (1 + SLEW));
    return Math.floor(this.lastMs);
  }

  /** Recovery found events of a later time than the wall clock shows: time goes on from there. */
  advanceTo(atMs: number): void {
    this.lastMs = Math.max(this.lastMs, atMs);
  }
}
