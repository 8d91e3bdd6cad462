import { factOf } from '../../../src/core/claims/facts.js';
import { occupiedUntilMs } from '../../../src/core/claims/lease.js';
import { nameOf } from './effects.js';
import type { Past, State } from './past.js';
import type { StoreClock } from './store-clock.js';
import { type Violation, violation } from './violation.js';

/** How long the claims last that there are, place by place in the log. */
export class Room {
  /** By place: until when there are `max` claims if nothing else happens. */
  readonly full_until: Float64Array;
  /** By place: until when there is one more than there may be. */
  private readonly over_until: Float64Array;

  constructor(
    private readonly past: Past,
    private readonly max: number,
  ) {
    this.full_until = new Float64Array(past.events.length + 1).fill(Number.NEGATIVE_INFINITY);
    this.over_until = this.full_until.slice();
    const until = new Map<string, number>();
    for (let place = 1; place <= past.events.length; place += 1) {
      const state = past.begun[place];
      if (state !== undefined) occupy(until, state);
      const longest = [...until.values()].sort((one, other) => other - one);
      this.full_until[place] = longest[max - 1] ?? Number.NEGATIVE_INFINITY;
      this.over_until[place] = longest[max] ?? Number.NEGATIVE_INFINITY;
    }
  }

  /** A grant must find room when it is committed: some time before somebody was told of it. */
  check(clock: StoreClock): Violation[] {
    const found: Violation[] = [];
    for (let place = 1; place <= this.past.events.length; place += 1) {
      const event = this.past.at(place);
      if (factOf(event.event_type) !== 'granted') continue;
      const by_ms = clock.atMost(this.past.latest[place] as number);
      if ((this.over_until[place] as number) <= by_ms) continue;
      const says = `${nameOf(event)} is one live claim more than the ${this.max} there may be`;
      found.push(violation('LIMIT', says, [], [event]));
    }
    return found;
  }
}

function occupy(until: Map<string, number>, { head, rules }: State): void {
  const until_ms = occupiedUntilMs(head, rules);
  if (until_ms === null) until.delete(head.subject);
  else until.set(head.subject, until_ms);
}
