import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import type { EventEnvelope } from '../events/envelope.js';
import { subjectKindOf } from '../subject.js';

/** Whether the agent an event names did it itself, rather than that time or a human did it to the agent. */
export function isAgentAction(event: EventEnvelope): boolean {
  switch (claimEventKindOf(event.event_type)) {
    case 'lost':
    case 'reviewed':
    case 'held':
    case 'unheld':
    case 'reset':
      return false;
    case 'released':
      return event.payload.reason === 'VOLUNTARY' || event.payload.reason === 'ERROR';
    case undefined:
      // A project is set up by whoever runs the program: that makes nobody an agent.
      return subjectKindOf(event.subject ?? '') !== 'record' && event.event_type !== 'project_initialized';
    default:
      return true;
  }
}
