import { evolve } from '../../../src/core/claims/evolve.js';
import { emptyHead, type Head } from '../../../src/core/claims/head.js';
import type { Rules } from '../../../src/core/claims/policy.js';
import type { PolicyAwareLogChecker } from '../../../src/core/claims/policy-aware-log-checker.js';
import type { EventEnvelope } from '../../../src/core/events/envelope.js';
import { subjectKindOf } from '../../../src/core/subject.js';
import type { CallEffects } from './effects.js';

/** What a subject was from one place in the log to the next that changed it. Place 0 is before everything. */
export interface SubjectState {
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
export class LogTimeline {
  /** By place: when it can have been committed at the earliest, and at the latest, by the driver's clock. */
  readonly earliestMs: Float64Array;
  readonly latestMs: Float64Array;
  /** By place: what the subject of the event is from there on; nothing where the event moved no claim. */
  readonly stateFrom: (SubjectState | undefined)[] = [];
  private readonly states = new Map<string, SubjectState[]>();

  constructor(
    readonly events: readonly EventEnvelope[],
    effects: CallEffects,
    private readonly judge: PolicyAwareLogChecker,
  ) {
    const size = events.length + 2;
    this.earliestMs = new Float64Array(size).fill(Number.NEGATIVE_INFINITY);
    this.latestMs = new Float64Array(size).fill(Number.POSITIVE_INFINITY);
    for (const [index, event] of events.entries()) {
      const invokedMs = effects.causedBy.get(event)?.invoked_ms ?? Number.NEGATIVE_INFINITY;
      this.earliestMs[index + 1] = Math.max(this.earliestMs[index] as number, invokedMs);
      judge.checkEvent(event);
      this.applyEvent(event, index + 1);
    }
    for (let logIndex = events.length; logIndex > 0; logIndex -= 1) {
      const returnedMs =
        effects.acknowledgedBy.get(this.at(logIndex))?.returned_ms ?? Number.POSITIVE_INFINITY;
      this.latestMs[logIndex] = Math.min(this.latestMs[logIndex + 1] as number, returnedMs);
    }
  }

  at(logIndex: number): EventEnvelope {
    return this.events[logIndex - 1] as EventEnvelope;
  }

  /** The last places of the log that may have been the end of it at some moment from one time to another. */
  possibleEnds(fromMs: number, toMs: number): { first: number; last: number } {
    // Both bounds only grow with the place.
    const first = lastWhere(this.events.length, (logIndex) => (this.latestMs[logIndex] as number) < fromMs);
    const last = lastWhere(this.events.length, (logIndex) => (this.earliestMs[logIndex] as number) <= toMs);
    return { first, last: Math.max(first, last) };
  }

  /** What the subject was while the log ended somewhere between these places. */
  statesOf(subject: string, first: number, last: number): readonly SubjectState[] {
    const states = this.states.get(subject);
    if (states === undefined) return [this.initialState(subject, this.events.length + 1)];
    return states.filter(({ from, to }) => from <= last && to > first);
  }

  private applyEvent(event: EventEnvelope, logIndex: number): void {
    const { subject, seq } = event;
    if (subject === undefined || seq === undefined || subjectKindOf(subject) === 'record') return;
    const states = this.states.get(subject) ?? [this.initialState(subject, logIndex)];
    const current = states[states.length - 1] as SubjectState;
    current.to = logIndex;
    const head = evolve(current.head, event);
    const next = { from: logIndex, to: this.events.length + 1, head, rules: this.judge.rulesOf(subject) };
    states.push(next);
    this.stateFrom[logIndex] = next;
    this.states.set(subject, states);
  }

  private initialState(subject: string, to: number): SubjectState {
    return { from: 0, to, head: emptyHead(subject), rules: this.judge.rulesOf(subject) };
  }
}

/** The last place from 0 to the size for which something is true that is true from the beginning up to it; 0 if none. */
function lastWhere(size: number, isTrue: (logIndex: number) => boolean): number {
  let [low, high] = [0, size];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (isTrue(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
