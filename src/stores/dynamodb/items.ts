import type { EventEnvelope } from '../../core/events/envelope.js';
import type { KeptRequest } from '../requests.js';
import { type ProjectKey, REQUEST_WINDOW_MS, type StoredHead } from '../store.js';
import type { DynamodbBlobs } from './blobs.js';
import type { PlacedEvent } from './draft.js';
import { type Item, indexKey, N, numberOf, projectPart, S, textOf } from './keys.js';
import type { ProjectState, Share } from './known.js';
import { INDEXED_FIELDS, indexOf, TIME_INDEX, TTL_ATTRIBUTE } from './schema.js';
import { readText } from './texts.js';

/** How things look as items, and back. */

export const DAY_S = 86_400;

const STATE_FIELDS = [
  'version',
  'position',
  'rules_seq',
  'now_ms',
  'time_high_ms',
  'late_max_ms',
] as const satisfies readonly (keyof ProjectState)[];

export const projectItem = (state: ProjectState): Item =>
  Object.fromEntries(STATE_FIELDS.map((field) => [field, N(state[field])]));

export const projectOf = (item: Item): ProjectState =>
  Object.fromEntries(STATE_FIELDS.map((field) => [field, numberOf(item[field])])) as unknown as ProjectState;

export const headOf = (item: Item, blobs: DynamodbBlobs, tenant_id: string): Promise<StoredHead> =>
  readText(item, 'head', blobs, tenant_id) as Promise<StoredHead>;

/** `at_ms` is what the window of a request is measured from; `ttl`, in seconds, only tells DynamoDB when to clean up. */
export const requestItem = ({ key, digest, reply, positions, at_ms }: KeptRequest): Item => ({
  key: S(key),
  digest: S(digest),
  ...(reply === undefined ? {} : { reply: S(JSON.stringify(reply)) }),
  positions: S(JSON.stringify(positions)),
  at_ms: N(at_ms),
  [TTL_ATTRIBUTE]: N(Math.ceil((at_ms + REQUEST_WINDOW_MS) / 1000) + DAY_S),
});

export const requestOf = (item: Item): KeptRequest => ({
  key: textOf(item.key),
  digest: textOf(item.digest),
  reply: item.reply?.S === undefined ? undefined : JSON.parse(item.reply.S),
  positions: JSON.parse(textOf(item.positions)),
  at_ms: numberOf(item.at_ms),
});

export const shareOf = (item: Item): Share => ({
  registered: numberOf(item.registered),
  spare: numberOf(item.spare),
  room_max: item.room_max === undefined ? Number.POSITIVE_INFINITY : numberOf(item.room_max),
});

/** DynamoDB has no infinite number; this one is past any time there is. */
const FOREVER_MS = Number.MAX_SAFE_INTEGER;
export const untilValue = (until_ms: number) => N(Math.min(until_ms, FOREVER_MS));
export const untilOf = (item: Item): number => {
  const until_ms = numberOf(item.until_ms);
  return until_ms === FOREVER_MS ? Number.POSITIVE_INFINITY : until_ms;
};

/** The keys under which the indexes find an event. */
export function indexAttributes(project: ProjectKey, { event, position }: PlacedEvent): Item {
  const attributes: Item = {};
  for (const field of INDEXED_FIELDS) {
    const value = event[field];
    if (value !== undefined) attributes[indexOf(field)] = S(indexKey(project, field, value, position));
  }
  return attributes;
}

/**
 * The first event of a transaction tells the index of times how far the timestamps had come before it: whoever looks
 * for a time then knows where to begin, and where to end, whatever the order of the timestamps.
 */
export const timeAttributes = (project: ProjectKey, before: ProjectState): Item => ({
  [TIME_INDEX]: S(projectPart(project)),
  time_high_ms: N(before.time_high_ms),
});

/** An item holds one event, or those of a page that ends with its position. */
export async function eventsOf(
  item: Item,
  blobs: DynamodbBlobs,
  tenant_id: string,
): Promise<EventEnvelope[]> {
  const kept = (await readText(item, 'event', blobs, tenant_id)) as EventEnvelope | EventEnvelope[];
  const page = Array.isArray(kept) ? kept : [kept];
  const first = numberOf(item.position) - page.length + 1;
  return page.map((event, index) => ({ ...event, position: first + index }));
}
