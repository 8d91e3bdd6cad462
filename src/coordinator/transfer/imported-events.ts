import type { ImportBody } from '../../core/contract/events.js';
import { isoTime, msOf, type NewEvent } from '../../core/events/envelope.js';
import { importedEventFault } from '../../core/events/imported-event.js';
import { isObject } from '../../core/events/plain-data.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { transactionOf } from '../../stores/transaction.js';
import { fieldProblem } from '../wire/problem.js';

/** Validates imported events and assigns them to this project. One invalid event rejects all. */
export function parseImportedEvents({ tenant_id, project_id }: ProjectKey, { events }: ImportBody) {
  const parsed: NewEvent[] = [];
  for (const [at, event] of events.entries()) {
    const scoped = { ...event, tenant_id, project_id, payload: withoutSignedText(event.payload) };
    const fault = importedEventFault(scoped);
    if (fault !== null) return fieldProblem(`events.${at}.${fault.path}`, fault.message, 'INVALID_EVENT');
    parsed.push(scoped as unknown as NewEvent);
  }
  return parsed;
}

/** A session of another log signed it for that log: here the signature cannot be checked. */
function withoutSignedText(payload: unknown): unknown {
  if (!isObject(payload) || payload.signed_text === undefined) return payload;
  const { signed_text: _, ...rest } = payload;
  return rest;
}

/** Caps the events' times at the store's: a future timestamp would advance the store's clock. */
export const clampTimestamps = (events: readonly NewEvent[], nowMs: number): NewEvent[] =>
  events.map((event) => (msOf(event.timestamp) <= nowMs ? event : { ...event, timestamp: isoTime(nowMs) }));

/** Commits imported events, each in its own transaction. Events with a known id are skipped. */
export async function commitImported(store: Store, projectKey: ProjectKey, events: readonly NewEvent[]) {
  const outcomes = await store.commit(
    events.map((event) => transactionOf(projectKey, { loose_events: [event] })),
  );
  let written = 0;
  for (const outcome of outcomes) {
    if (outcome.kind !== 'committed')
      throw new Error(`an event without preconditions was not committed: ${outcome.kind}`);
    if (outcome.positions[0] !== null) written += 1;
  }
  return { written, already_there: events.length - written };
}
