import type { ProcessClock } from '../clock.js';

/** A clock that stands still until it is told to go on. */
export class ManualClock implements ProcessClock {
  constructor(private at_ms: number) {}

  wallMs(): number {
    return this.at_ms;
  }

  monotonicMs(): number {
    return this.at_ms;
  }

  advance(by_ms: number): void {
    this.at_ms += by_ms;
  }
}
