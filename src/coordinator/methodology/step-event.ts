import { type EventDraft, isoTime } from '../../core/events/envelope.js';
import type { Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';

/** The acting agent: the one named in the body, otherwise the caller's user or principal. */
export const actorOf = (body: { agent_id?: string | undefined }, caller: Caller): string =>
  body.agent_id ?? caller.user_id ?? caller.principal;

/** Builds a methodology event. Undefined payload fields are omitted. */
export function stepEvent(
  view: DecisionView,
  event_type: string,
  agent_id: string,
  payload: Readonly<Record<string, unknown>>,
): EventDraft {
  const definedFields = Object.fromEntries(
    Object.entries(payload).filter(([, value]) => value !== undefined),
  );
  return { event_type, timestamp: isoTime(view.now_ms), agent_id, payload: definedFields };
}
