import { isoTime, msOf, type NewEvent } from '../../core/events/envelope.js';
import { importedFault } from '../../core/events/imported.js';
import type { ProjectKey } from '../../stores/store.js';
import { type Problem, problem } from '../problem.js';
import type { ImportBody } from '../wire.js';

/** Events from elsewhere, in the project they are brought to: all of them as they must be, or none is taken. */
export function readImported(
  { tenant_id, project_id }: ProjectKey,
  { events }: ImportBody,
): NewEvent[] | Problem {
  const read: NewEvent[] = [];
  for (const [at, event] of events.entries()) {
    const here = { ...event, tenant_id, project_id };
    const fault = importedFault(here);
    if (fault !== null) {
      const path = `events.${at}.${fault.path}`;
      return problem('INVALID_EVENT', `${path}: ${fault.message}`, [{ path, message: fault.message }]);
    }
    read.push(here as unknown as NewEvent);
  }
  return read;
}

/** Nothing has happened yet that has not: a time beyond the store's would carry its clock along. */
export const notAfter = (event: NewEvent, now_ms: number): NewEvent =>
  msOf(event.timestamp) <= now_ms ? event : { ...event, timestamp: isoTime(now_ms) };
