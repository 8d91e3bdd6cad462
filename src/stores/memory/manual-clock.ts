import type { ProcessClock } from '../clock.js';

/** A clock that stands still until it is told to go on. */
export class ManualClock implements ProcessClock {
  private stepped_ms = 0;

  constructor(private at_ms: number) {}

  wallMs(): number {
    return this.at_ms + this.stepped_ms;
  }

  monotonicMs(): number {
    return this.at_ms;
  }

  advance(by_ms: number): void {
    this.at_ms += by_ms;
  }

  /** Somebody sets the wall clock, forward or back; time itself goes on as before. */
  stepWall(by_ms: number): void {
    this.stepped_ms += by_ms;
  }
}
