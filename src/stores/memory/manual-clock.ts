import type { ProcessClock } from '../clock.js';

/** A clock that moves only when it is advanced. */
export class ManualClock implements ProcessClock {
  private wallOffsetMs = 0;

  constructor(private atMs: number) {}

  wallMs(): number {
    return this.atMs + this.wallOffsetMs;
  }

  monotonicMs(): number {
    return this.atMs;
  }

  advance(byMs: number): void {
    this.atMs += byMs;
  }

  /** Steps the wall clock forward or back; the monotonic clock is not affected. */
  stepWall(byMs: number): void {
    this.wallOffsetMs += byMs;
  }
}
