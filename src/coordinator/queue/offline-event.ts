import { type ClaimEventKind, claimEventKindOf } from '../../core/claims/claim-event-kinds.js';
import type { Decision } from '../../core/claims/commands.js';
import { type EventDraft, isoTime, msOf } from '../../core/events/envelope.js';

/** What a pushed command says about the event that recorded its decision offline. */
export interface PushedEvent {
  readonly occurred_at: string;
  /** Absent for a note, whose id derives from its content. */
  readonly event_id?: string;
  /** The id of the event of the result that an approval accepts. */
  readonly accepted_event_id?: string | undefined;
  /** The generation of a note where it was written. */
  readonly generation?: number;
}

/** Events that answer the command. Expiries and holds recorded with them are decided by this coordinator. */
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

/** Adds the time of the offline decision to the events of a decision on it. */
export function attachOfflineTime(decision: Decision, pushed: PushedEvent, nowMs: number): void {
  const occurred_at = clampToNow(pushed.occurred_at, nowMs);
  for (const draft of [...decision.events, ...decision.loose_events]) {
    if (ANSWER_KINDS.has(claimEventKindOf(draft.event_type)))
      draft.payload = { ...draft.payload, occurred_at };
  }
}

/**
 * A time that a client states, or now if it lies in the future. Earlier times are taken as they are: no rule
 * depends on them.
 */
export const clampToNow = (statedTime: string, nowMs: number): string =>
  msOf(statedTime) <= nowMs ? statedTime : isoTime(nowMs);

/** The offline id of one of a decision's events that move the head; undefined if it gets a new one. */
export function offlineIdOf(draft: EventDraft, drafts: readonly EventDraft[], pushed: PushedEvent) {
  const answers = drafts.filter(({ event_type }) => ANSWER_KINDS.has(claimEventKindOf(event_type)));
  if (draft === answers[0]) return pushed.event_id;
  return claimEventKindOf(draft.event_type) === 'accepted' ? pushed.accepted_event_id : undefined;
}
