import type { ProcessClock } from '../clock.js';

/** A clock that stands still until it is told to go on. */
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

  /** Somebody sets the wall clock, forward or back; time itself goes on as before. */
  stepWall(byMs: number): void {
    this.wallOffsetMs += byMs;
  }
}
