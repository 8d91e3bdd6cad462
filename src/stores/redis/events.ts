import { type EventEnvelope, msOf } from '../../core/events/envelope.js';
import { eventFromLine } from '../event-line.js';
import { eventMatcher, SELECTIVE_FIELDS } from '../event-matcher.js';
import type { EventQuery, ProjectKey } from '../store.js';
import type { RedisConnection } from './connection.js';
import { FOREVER_MS } from './event-columns.js';
import { HEAD_PREFIX, INDEX_PREFIX } from './keys.js';
import { readScript } from './script.js';

const EVENTS_SCRIPT = readScript(new URL('./events.lua', import.meta.url), { FOREVER_MS });

/** The events of a project that match a query, read page by page. */
export async function readEvents(
  connection: RedisConnection,
  projectKey: ProjectKey,
  key: string,
  query: EventQuery,
): Promise<EventEnvelope[]> {
  const events: EventEnvelope[] = [];
  if (query.types?.length === 0) return events;
  const matches = eventMatcher(query);
  for (let after = query.after; events.length < query.limit; ) {
    const reply = await connection.run(EVENTS_SCRIPT, [key], argumentsOf({ ...query, after }));
    const [scannedTo, isLast, ...texts] = reply as [number, number, ...(number | string)[]];
    for (const { line, position } of linesOf(texts)) {
      if (position <= after || position > scannedTo) continue;
      const event = eventFromLine(line, position, projectKey);
      if (matches(event) && events.push(event) === query.limit) return events;
    }
    if (isLast === 1) break;
    after = scannedTo;
  }
  return events;
}

/** The event lines, from pairs of a position and the lines of the events from there on. */
function* linesOf(texts: readonly (number | string)[]): Generator<{ line: string; position: number }> {
  for (let at = 0; at < texts.length; at += 2) {
    let position = texts[at] as number;
    for (const line of (texts[at + 1] as string).split('\n')) {
      yield { line, position };
      position += 1;
    }
  }
}

const argumentsOf = (query: EventQuery): string[] => [
  String(query.after),
  String(query.until_position ?? Number.MAX_SAFE_INTEGER),
  String(query.limit),
  String(query.since === undefined ? -FOREVER_MS : msOf(query.since)),
  String(query.until === undefined ? FOREVER_MS : msOf(query.until)),
  ...indexNamesOf(query),
];

/** The names that together have all events of the most selective filter. */
function indexNamesOf(query: EventQuery): string[] {
  const field = SELECTIVE_FIELDS.find((name) => query[name] !== undefined);
  if (field === undefined) return [...new Set(query.types)].map((type) => INDEX_PREFIX.event_type + type);
  const value = query[field] as string;
  const names = [INDEX_PREFIX[field] + value];
  if (field === 'subject' || field === 'task_id') names.push(HEAD_PREFIX + value);
  // A loose event whose task is its subject is indexed only by the subject.
  if (field === 'task_id') names.push(INDEX_PREFIX.subject + value);
  return names;
}
