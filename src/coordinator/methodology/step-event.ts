import { type EventDraft, isoTime } from '../../core/events/envelope.js';
import type { Caller } from '../caller.js';
import type { DecisionView } from '../decision-view.js';

/** Who acts: the agent that is named, or whoever the credential says. */
export const actorOf = (body: { agent_id?: string | undefined }, caller: Caller): string =>
  body.agent_id ?? caller.user_id ?? caller.principal;

/** A step of the methodology, as it is written. What is undefined is left out. */
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

export const NOT_INITIALISED_MESSAGE = 'Nobody has initialised the project. Run gen init, or POST /api/init.';
