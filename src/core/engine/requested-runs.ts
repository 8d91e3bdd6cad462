import type { EventEnvelope } from '../events/envelope.js';
import { runEventSchemas } from './run-events.js';

export interface RequestedRun {
  readonly run_id: string;
  readonly subject: string;
}

/** Runs that somebody has requested and no executor has started, oldest first; a cancelled one has ended. */
export function requestedRuns(events: Iterable<EventEnvelope>): RequestedRun[] {
  const requested = new Map<string, RequestedRun>();
  for (const { event_type, subject, payload } of events) {
    if (event_type === 'run_started' || event_type === 'run_ended') requested.delete(String(payload.run_id));
    if (event_type !== 'run_requested' || subject === undefined) continue;
    const parsed = runEventSchemas.run_requested.loose().safeParse(payload);
    if (parsed.success) requested.set(parsed.data.run_id, { run_id: parsed.data.run_id, subject });
  }
  return [...requested.values()];
}
