/** The time sources of a process. Injected everywhere, so that the simulator controls time. */
export interface ProcessClock {
  /** Wall-clock milliseconds; may step forward or back. */
  wallMs(): number;
  /** Milliseconds since an arbitrary start; never decreases. */
  monotonicMs(): number;
}

export const systemClock: ProcessClock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/**
 * How far ahead of the clock an event may be and still move it, for example after the machine's clock was set back. An
 * event further ahead does not move the clock: the jump would expire leases and keys, and give later events a wrong time.
 */
export const FUTURE_MS_MAX = 24 * 3600 * 1000;

/** The largest deviation from real speed while the clock corrects a jump of the wall clock, as a fraction. */
const SLEW = 0.5;

/**
 * The clock of a single-process store. It follows the wall clock, but not its steps: it corrects a jump gradually, at 0.5
 * to 1.5 times real speed. Agents renew at 40 % of their lease, so they renew in time even then, and a step of the wall
 * clock cannot expire every lease at once.
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

  /** The current time in whole milliseconds; never decreases. */
  now(): number {
    const monotonicMs = this.clock.monotonicMs();
    const elapsedMs = monotonicMs - this.monotonicMs;
    this.monotonicMs = monotonicMs;
    const behindMs = this.clock.wallMs() - this.lastMs;
    this.lastMs += Math.min(Math.max(behindMs, elapsedMs * (1 - SLEW)), elapsedMs * (1 + SLEW));
    return Math.floor(this.lastMs);
  }

  /** Moves the clock forward to this time, that of an event, if it is behind. Never moves it back. */
  advanceTo(atMs: number): void {
    this.lastMs = Math.max(this.lastMs, atMs);
  }
}

/** Moves the clock to the time of an event, unless that time is more than `FUTURE_MS_MAX` ahead. */
export function followTime(clock: SteadyClock, atMs: number): void {
  if (atMs <= clock.now() + FUTURE_MS_MAX) clock.advanceTo(atMs);
}
