import { type ClaimEventKind, claimEventKindOf } from '../../core/claims/claim-event-kinds.js';
import type { Decision } from '../../core/claims/commands.js';
import { type EventDraft, isoTime, msOf } from '../../core/events/envelope.js';

/** What a pushed command states about the event that recorded its decision offline. */
export interface PushedEvent {
  readonly occurred_at: string;
  /** Absent for a note, whose id derives from its content. */
  readonly event_id?: string;
  /** For an approval that accepts a result: the id of the event with the accepted result. */
  readonly accepted_event_id?: string | undefined;
  /** For a note: the generation under which it was written offline. */
  readonly generation?: number;
}

/** Kinds of events that record the outcome of the command itself. Other events of the decision, such as expiries, do not. */
const ANSWER_KINDS: ReadonlySet<ClaimEventKind | undefined> = new Set<ClaimEventKind>([
  'granted',
  'released',
  'suspended',
  'resumed',
  'accepted',
  'escalated',
  'reviewed',
  'noted',
  'claim_refused',
  'result_refused',
]);

/** Adds the time of the offline decision to the events that record the outcome of the pushed command. */
export function attachOfflineTime(decision: Decision, pushed: PushedEvent, nowMs: number): void {
  const occurred_at = clampToNow(pushed.occurred_at, nowMs);
  for (const draft of [...decision.events, ...decision.loose_events]) {
    if (ANSWER_KINDS.has(claimEventKindOf(draft.event_type)))
      draft.payload = { ...draft.payload, occurred_at };
  }
}

/**
 * A time that a client states, or now if it lies in the future. Earlier times are accepted as they are: no rule
 * depends on them.
 */
export const clampToNow = (statedTime: string, nowMs: number): string =>
  msOf(statedTime) <= nowMs ? statedTime : isoTime(nowMs);

/** The id that an event had offline; undefined if it gets a new id. `drafts`: the decision's events that change the head. */
export function offlineIdOf(draft: EventDraft, drafts: readonly EventDraft[], pushed: PushedEvent) {
  const answers = drafts.filter(({ event_type }) => ANSWER_KINDS.has(claimEventKindOf(event_type)));
  if (draft === answers[0]) return pushed.event_id;
  return claimEventKindOf(draft.event_type) === 'accepted' ? pushed.accepted_event_id : undefined;
}
