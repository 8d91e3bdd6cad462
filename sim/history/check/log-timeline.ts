import { evolve } from '../../../src/core/claims/evolve.js';
import { emptyHead, type Head } from '../../../src/core/claims/head.js';
import type { Rules } from '../../../src/core/claims/policy.js';
import type { PolicyAwareLogChecker } from '../../../src/core/claims/policy-aware-log-checker.js';
import type { EventEnvelope } from '../../../src/core/events/envelope.js';
import { subjectKindOf } from '../../../src/core/subject.js';
import type { CallEffects } from './effects.js';

/** The state of a subject between two log indexes. Index 0 is before the first event. */
export interface SubjectState {
  readonly fromIndex: number;
  /** The first index at which the state changed; one past the end for the last state. */
  toIndex: number;
  readonly head: Head;
  readonly rules: Rules;
}

/**
 * The log, with bounds on the commit time of each event; the time itself is not recorded. An event was committed after the
 * invocation of the call that caused it, and after the invocations for all earlier events. It was committed before the
 * return of the call that confirmed it, and before the returns for all later events.
 */
export class LogTimeline {
  /** By log index: earliest and latest possible commit time, by the driver's clock. */
  readonly earliestMs: Float64Array;
  readonly latestMs: Float64Array;
  /** By log index: the state of the event's subject from there on; undefined where the event changed no head. */
  readonly stateFrom: (SubjectState | undefined)[] = [];
  private readonly states = new Map<string, SubjectState[]>();

  constructor(
    readonly events: readonly EventEnvelope[],
    effects: CallEffects,
    private readonly checker: PolicyAwareLogChecker,
  ) {
    const size = events.length + 2;
    this.earliestMs = new Float64Array(size).fill(Number.NEGATIVE_INFINITY);
    this.latestMs = new Float64Array(size).fill(Number.POSITIVE_INFINITY);
    for (const [index, event] of events.entries()) {
      const invokedMs = effects.causedBy.get(event)?.invoked_ms ?? Number.NEGATIVE_INFINITY;
      this.earliestMs[index + 1] = Math.max(this.earliestMs[index] as number, invokedMs);
      checker.checkEvent(event);
      this.applyEvent(event, index + 1);
    }
    for (let logIndex = events.length; logIndex > 0; logIndex -= 1) {
      const returnedMs =
        effects.acknowledgedBy.get(this.eventAt(logIndex))?.returned_ms ?? Number.POSITIVE_INFINITY;
      this.latestMs[logIndex] = Math.min(this.latestMs[logIndex + 1] as number, returnedMs);
    }
  }

  eventAt(logIndex: number): EventEnvelope {
    return this.events[logIndex - 1] as EventEnvelope;
  }

  /** The range of indexes at which the log may have ended at some moment between two times. */
  possibleEnds(fromMs: number, toMs: number): { firstEnd: number; lastEnd: number } {
    // Both bounds increase monotonically with the index.
    const firstEnd = lastWhere(
      this.events.length,
      (logIndex) => (this.latestMs[logIndex] as number) < fromMs,
    );
    const lastEnd = lastWhere(
      this.events.length,
      (logIndex) => (this.earliestMs[logIndex] as number) <= toMs,
    );
    return { firstEnd, lastEnd: Math.max(firstEnd, lastEnd) };
  }

  /** The states that the subject had while the log ended within this range. */
  statesOf(subject: string, firstEnd: number, lastEnd: number): readonly SubjectState[] {
    const states = this.states.get(subject);
    if (states === undefined) return [this.initialState(subject, this.events.length + 1)];
    return states.filter(({ fromIndex, toIndex }) => fromIndex <= lastEnd && toIndex > firstEnd);
  }

  private applyEvent(event: EventEnvelope, logIndex: number): void {
    const { subject, seq } = event;
    if (subject === undefined || seq === undefined || subjectKindOf(subject) === 'record') return;
    const states = this.states.get(subject) ?? [this.initialState(subject, logIndex)];
    const current = states[states.length - 1] as SubjectState;
    current.toIndex = logIndex;
    const head = evolve(current.head, event);
    const next = {
      fromIndex: logIndex,
      toIndex: this.events.length + 1,
      head,
      rules: this.checker.rulesOf(subject),
    };
    states.push(next);
    this.stateFrom[logIndex] = next;
    this.states.set(subject, states);
  }

  private initialState(subject: string, toIndex: number): SubjectState {
    return { fromIndex: 0, toIndex, head: emptyHead(subject), rules: this.checker.rulesOf(subject) };
  }
}

/**
 * Binary search for the last index from 0 to `size` at which the predicate is true; 0 if there is none. The predicate must
 * be true up to some index, and false from there on.
 */
function lastWhere(size: number, isTrue: (logIndex: number) => boolean): number {
  let [low, high] = [0, size];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (isTrue(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
