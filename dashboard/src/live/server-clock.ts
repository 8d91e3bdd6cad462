import { useClock } from './use-clock.js';

/** Clocks that differ by less count as equal, because a Date header has whole seconds and takes time to arrive. */
const TOLERANCE_MS = 2000;

let offsetMs = 0;

/** How far the server's clock is ahead of this one. */
export function clockOffsetMs(dateHeader: string | null, nowMs: number): number {
  const differenceMs = Date.parse(dateHeader ?? '') - nowMs;
  return Math.abs(differenceMs) > TOLERANCE_MS ? differenceMs : 0;
}

export function noteServerTime(dateHeader: string | null): void {
  if (dateHeader !== null) offsetMs = clockOffsetMs(dateHeader, Date.now());
}

export const serverNowMs = (): number => Date.now() + offsetMs;

/** The server's time, updated once a second. Leases end by the server's clock. */
export const useServerClock = (): number => useClock() + offsetMs;
