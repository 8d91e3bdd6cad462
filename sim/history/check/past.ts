import { evolve } from '../../../src/core/claims/evolve.js';
import { emptyHead, type Head } from '../../../src/core/claims/head.js';
import type { LogJudge } from '../../../src/core/claims/log-judge.js';
import type { Rules } from '../../../src/core/claims/policy.js';
import type { EventEnvelope } from '../../../src/core/events/envelope.js';
import { kindOf } from '../../../src/core/subject.js';
import type { Effects } from './effects.js';

/** What a subject was from one place in the log to the next that changed it. Place 0 is before everything. */
export interface State {
  readonly from: number;
  /** The first place where it was something else; one past the end for the last state. */
  to: number;
  readonly head: Head;
  readonly rules: Rules;
}

/**
 * The log as it came about. When each event was committed nobody wrote down, but its place bounds it: not before the
 * call that led to it or to any event before it was invoked, and not after a call that was told of it, or of any event
 * after it, returned.
 */
export class Past {
  /** By place: when it can have been committed at the earliest, and at the latest, by the driver's clock. */
  readonly earliest: Float64Array;
  readonly latest: Float64Array;
  /** By place: what the subject of the event is from there on; nothing where the event moved no claim. */
  readonly begun: (State | undefined)[] = [];
  private readonly states = new Map<string, State[]>();

  constructor(
    readonly events: readonly EventEnvelope[],
    effects: Effects,
    private readonly judge: LogJudge,
  ) {
    const size = events.length + 2;
    this.earliest = new Float64Array(size).fill(Number.NEGATIVE_INFINITY);
    this.latest = new Float64Array(size).fill(Number.POSITIVE_INFINITY);
    for (const [index, event] of events.entries()) {
      const asked_ms = effects.askedBy.get(event)?.invoked_ms ?? Number.NEGATIVE_INFINITY;
      this.earliest[index + 1] = Math.max(this.earliest[index] as number, asked_ms);
      judge.see(event);
      this.follow(event, index + 1);
    }
    for (let place = events.length; place > 0; place -= 1) {
      const told_ms = effects.toldTo.get(this.at(place))?.returned_ms ?? Number.POSITIVE_INFINITY;
      this.latest[place] = Math.min(this.latest[place + 1] as number, told_ms);
    }
  }

  at(place: number): EventEnvelope {
    return this.events[place - 1] as EventEnvelope;
  }

  /** The last places of the log that may have been the end of it at some moment from one time to another. */
  endsBetween(from_ms: number, to_ms: number): { first: number; last: number } {
    // Both bounds only grow with the place.
    const first = lastWhere(this.events.length, (place) => (this.latest[place] as number) < from_ms);
    const last = lastWhere(this.events.length, (place) => (this.earliest[place] as number) <= to_ms);
    return { first, last: Math.max(first, last) };
  }

  /** What the subject was while the log ended somewhere between these places. */
  statesOf(subject: string, first: number, last: number): readonly State[] {
    const states = this.states.get(subject);
    if (states === undefined) return [this.before(subject, this.events.length + 1)];
    return states.filter(({ from, to }) => from <= last && to > first);
  }

  private follow(event: EventEnvelope, place: number): void {
    const { subject, seq } = event;
    if (subject === undefined || seq === undefined || kindOf(subject) === 'record') return;
    const states = this.states.get(subject) ?? [this.before(subject, place)];
    const current = states[states.length - 1] as State;
    current.to = place;
    const head = evolve(current.head, event);
    const next = { from: place, to: this.events.length + 1, head, rules: this.judge.rulesOf(subject) };
    states.push(next);
    this.begun[place] = next;
    this.states.set(subject, states);
  }

  private before(subject: string, to: number): State {
    return { from: 0, to, head: emptyHead(subject), rules: this.judge.rulesOf(subject) };
  }
}

/** The last place from 0 to the size for which something is true that is true from the beginning up to it; 0 if none. */
function lastWhere(size: number, isTrue: (place: number) => boolean): number {
  let [low, high] = [0, size];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (isTrue(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
