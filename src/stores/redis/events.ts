import { type EventEnvelope, msOf } from '../../core/events/envelope.js';
import { matcher } from '../event-matcher.js';
import type { EventQuery } from '../store.js';
import { FOREVER_MS } from './batch.js';
import type { RedisConnection } from './connection.js';
import { INDEX_PREFIX, INDEXED_FIELDS } from './keys.js';
import { readScript } from './script.js';

const EVENTS_SCRIPT = readScript(new URL('./events.lua', import.meta.url), { FOREVER_MS });

/** The events of a project that match a query, read page by page. */
export async function readEvents(
  connection: RedisConnection,
  projectKey: string,
  query: EventQuery,
): Promise<EventEnvelope[]> {
  const matches = matcher(query);
  const found: EventEnvelope[] = [];
  for (let after = query.after; found.length < query.limit; ) {
    const reply = await connection.run(EVENTS_SCRIPT, [projectKey], argumentsOf({ ...query, after }));
    const [scannedTo, isLast, ...rest] = reply as [number, number, ...(number | string)[]];
    for (let at = 0; at < rest.length && found.length < query.limit; at += 2) {
      const event: EventEnvelope = { position: rest[at], ...JSON.parse(rest[at + 1] as string) };
      if (matches(event)) found.push(event);
    }
    if (isLast === 1) break;
    after = scannedTo;
  }
  return found;
}

const argumentsOf = (query: EventQuery): string[] => [
  String(query.after),
  String(query.until_position ?? Number.MAX_SAFE_INTEGER),
  String(query.limit),
  String(query.since === undefined ? -FOREVER_MS : msOf(query.since)),
  String(query.until === undefined ? FOREVER_MS : msOf(query.until)),
  JSON.stringify(filtersOf(query)),
];

/** For each filter, the index values that cover its events. */
function filtersOf(query: EventQuery): string[][] {
  return INDEXED_FIELDS.flatMap((field) => {
    const values = field === 'event_type' ? query.types : query[field];
    if (values === undefined) return [];
    const lists = [...new Set([values].flat())].map((value) => INDEX_PREFIX[field] + value);
    // Events on a task's own head are indexed under their subject only.
    return [field === 'task_id' ? [...lists, INDEX_PREFIX.subject + values] : lists];
  });
}
