import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import type { EventEnvelope } from '../events/envelope.js';
import { subjectKindOf } from '../subject.js';

/** Whether an event records a submission whose sender did not prove that it is the session which the event names. */
export const isUnverified = ({ event_type, payload }: EventEnvelope): boolean =>
  claimEventKindOf(event_type) === 'result_refused' && payload.verified === false;

/** Whether the agent named in an event acted itself, not a person or an expiry. Every grant and every adoption counts. */
export function isAgentAction(event: EventEnvelope): boolean {
  switch (claimEventKindOf(event.event_type)) {
    case 'lost':
    case 'reviewed':
    case 'held':
    case 'unheld':
    case 'reset':
    case 'refusals_counted':
      return false;
    case 'result_refused':
      return !isUnverified(event);
    case 'released':
      return event.payload.reason === 'VOLUNTARY' || event.payload.reason === 'ERROR';
    case undefined:
      // The user of the program initialises the project, which does not make them an agent.
      return subjectKindOf(event.subject ?? '') !== 'record' && event.event_type !== 'project_initialized';
    default:
      return true;
  }
}
