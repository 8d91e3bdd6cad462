import type { ImportBody } from '../../core/contract/events.js';
import { isoTime, msOf, type NewEvent } from '../../core/events/envelope.js';
import { importedEventFault } from '../../core/events/imported-event.js';
import type { ProjectKey } from '../../stores/store.js';
import { type Problem, problem } from '../wire/problem.js';

/** Validates imported events and assigns them to this project. One invalid event rejects all. */
export function parseImportedEvents(
  { tenant_id, project_id }: ProjectKey,
  { events }: ImportBody,
): NewEvent[] | Problem {
  const parsed: NewEvent[] = [];
  for (const [at, event] of events.entries()) {
    const scoped = { ...event, tenant_id, project_id };
    const fault = importedEventFault(scoped);
    if (fault !== null) {
      const path = `events.${at}.${fault.path}`;
      return problem('INVALID_EVENT', `${path}: ${fault.message}`, [{ path, message: fault.message }]);
    }
    parsed.push(scoped as unknown as NewEvent);
  }
  return parsed;
}

/** Caps an event's time at the store's: a future timestamp would advance the store's clock. */
export const clampTimestamp = (event: NewEvent, nowMs: number): NewEvent =>
  msOf(event.timestamp) <= nowMs ? event : { ...event, timestamp: isoTime(nowMs) };
