import type { EventEnvelope } from '../../core/events/envelope.js';
import type { Paint } from '../output/paint.js';

/** A short description of an event; null if it is not worth a line. */
function describeEvent(event: EventEnvelope, paint: Paint): string | null {
  const generation = `generation ${event.generation}`;
  switch (event.event_type) {
    case 'PLAN_CHANGED':
      return 'plan imported';
    case 'CLAIM_ACQUIRED':
      return event.payload.previous_state === 'EXPIRED'
        ? paint.yellow(`takes over, ${generation}`)
        : `starts, ${generation}`;
    case 'CLAIM_LOST':
      return paint.yellow(`lease expired: ${generation} is lost`);
    case 'CLAIM_RELEASED':
      return `releases the claim (${String(event.payload.reason)})`;
    case 'RESULT_SUBMITTED':
      return paint.green(`done: the result of ${generation} is accepted`);
    case 'RESULT_REJECTED':
      return paint.red(`returns as a zombie: its result of ${generation} is refused and parked`);
    default:
      return null;
  }
}

/** The output line for an event, with the log's timestamp; null if the event is not worth a line. */
export function narrationLine(event: EventEnvelope, paint: Paint): string | null {
  const description = describeEvent(event, paint);
  if (description === null) return null;
  const time = event.timestamp.slice(11, 23);
  if (event.task_id === undefined) return `${paint.dim(time)}  ${description}`;
  return `${paint.dim(time)}  ${event.task_id.padEnd(22)}  ${event.agent_id.padEnd(5)} ${description}`;
}
