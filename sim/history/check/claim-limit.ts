import { claimEventKindOf } from '../../../src/core/claims/claim-event-kinds.js';
import { permitHeldUntilMs } from '../../../src/core/claims/lease.js';
import { describeEvent } from './effects.js';
import type { LogTimeline, SubjectState } from './log-timeline.js';
import type { ObservedStoreClock } from './store-clock.js';
import { type HistoryViolation, violation } from './violation.js';

/** Checks the limit of live claims: computes, for each log index, when the claims that are open there end. */
export class ClaimLimitCheck {
  /** By log index: until when there are `max` live claims if nothing else happens. */
  readonly fullUntilMs: Float64Array;
  /** By log index: until when there is one live claim above the limit. */
  private readonly overUntilMs: Float64Array;

  constructor(
    private readonly timeline: LogTimeline,
    private readonly max: number,
  ) {
    this.fullUntilMs = new Float64Array(timeline.events.length + 1).fill(Number.NEGATIVE_INFINITY);
    this.overUntilMs = this.fullUntilMs.slice();
    const untilMsBySubject = new Map<string, number>();
    for (let logIndex = 1; logIndex <= timeline.events.length; logIndex += 1) {
      const state = timeline.stateFrom[logIndex];
      if (state !== undefined) trackClaim(untilMsBySubject, state);
      const latestFirst = [...untilMsBySubject.values()].sort((one, other) => other - one);
      this.fullUntilMs[logIndex] = latestFirst[max - 1] ?? Number.NEGATIVE_INFINITY;
      this.overUntilMs[logIndex] = latestFirst[max] ?? Number.NEGATIVE_INFINITY;
    }
  }

  /** A grant must be within the limit when it is committed, which is before any client gets the reply. */
  check(clock: ObservedStoreClock): HistoryViolation[] {
    const violations: HistoryViolation[] = [];
    for (let logIndex = 1; logIndex <= this.timeline.events.length; logIndex += 1) {
      const event = this.timeline.eventAt(logIndex);
      if (claimEventKindOf(event.event_type) !== 'granted') continue;
      const committedByMs = clock.latestMs(this.timeline.latestMs[logIndex] as number);
      if ((this.overUntilMs[logIndex] as number) <= committedByMs) continue;
      const message = `${describeEvent(event)} exceeds the limit of ${this.max} live claims`;
      violations.push(violation('LIMIT', message, [], [event]));
    }
    return violations;
  }
}

function trackClaim(untilMsBySubject: Map<string, number>, { head, rules }: SubjectState): void {
  const untilMs = permitHeldUntilMs(head, rules);
  if (untilMs === null) untilMsBySubject.delete(head.subject);
  else untilMsBySubject.set(head.subject, untilMs);
}
