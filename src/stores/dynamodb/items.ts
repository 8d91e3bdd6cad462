import type { EventEnvelope } from '../../core/events/envelope.js';
import type { CachedRequest } from '../request-cache.js';
import { type ProjectKey, REQUEST_WINDOW_MS, type StoredHead } from '../store.js';
import type { PositionedEvent } from './batch-plan.js';
import type { DynamodbBlobs } from './blobs.js';
import { type DynamoItem, indexKey, N, numberOf, projectPartition, S, textOf } from './keys.js';
import { type CachedProject, EMPTY_PROJECT, type PermitShare } from './project-cache.js';
import { INDEXED_FIELDS, indexOf, TIME_INDEX, TTL_ATTRIBUTE } from './schema.js';
import { readText } from './stored-text.js';

/** Conversions between the store's data and DynamoDB items. */

export const DAY_S = 86_400;

const STATE_FIELDS = Object.keys(EMPTY_PROJECT) as (keyof CachedProject)[];

export const projectItem = (state: CachedProject): DynamoItem =>
  Object.fromEntries(STATE_FIELDS.map((field) => [field, N(state[field])]));

/** Without an item, the state of a project to which nothing was written. */
export const projectFromItem = (item: DynamoItem | undefined): CachedProject =>
  Object.fromEntries(
    STATE_FIELDS.map((field) => [field, numberOf(item?.[field])]),
  ) as unknown as CachedProject;

export const headFromItem = (item: DynamoItem, blobs: DynamodbBlobs, tenantId: string): Promise<StoredHead> =>
  readText(item, 'head', blobs, tenantId) as Promise<StoredHead>;

/** The window of a request is measured from `at_ms`; `ttl`, in seconds, only tells DynamoDB when to delete the item. */
export const requestItem = ({ key, digest, reply, positions, at_ms }: CachedRequest): DynamoItem => ({
  key: S(key),
  digest: S(digest),
  ...(reply === undefined ? {} : { reply: S(JSON.stringify(reply)) }),
  positions: S(JSON.stringify(positions)),
  at_ms: N(at_ms),
  [TTL_ATTRIBUTE]: N(Math.ceil((at_ms + REQUEST_WINDOW_MS) / 1000) + DAY_S),
});

export const requestFromItem = (item: DynamoItem): CachedRequest => ({
  key: textOf(item.key),
  digest: textOf(item.digest),
  reply: item.reply?.S === undefined ? undefined : JSON.parse(item.reply.S),
  positions: JSON.parse(textOf(item.positions)),
  at_ms: numberOf(item.at_ms),
});

export const shareFromItem = (item: DynamoItem): PermitShare => ({
  registered: numberOf(item.registered),
  spare: numberOf(item.spare),
  room_max: item.room_max === undefined ? Number.POSITIVE_INFINITY : numberOf(item.room_max),
});

/** DynamoDB has no infinite number; this one is later than any time. */
const FOREVER_MS = Number.MAX_SAFE_INTEGER;
export const untilValue = (untilMs: number) => N(Math.min(untilMs, FOREVER_MS));
export const untilFromItem = (item: DynamoItem): number => {
  const untilMs = numberOf(item.until_ms);
  return untilMs === FOREVER_MS ? Number.POSITIVE_INFINITY : untilMs;
};

/** The keys of an event in the indexes. */
export function indexAttributes(projectKey: ProjectKey, { event, position }: PositionedEvent): DynamoItem {
  const attributes: DynamoItem = {};
  for (const field of INDEXED_FIELDS) {
    const value = event[field];
    if (value !== undefined) attributes[indexOf(field)] = S(indexKey(projectKey, field, value, position));
  }
  return attributes;
}

/**
 * The attributes of a transaction's first event in the time index: the latest timestamp before it. They bound a search
 * by time, whatever the order of the timestamps.
 */
export const timeAttributes = (projectKey: ProjectKey, before: CachedProject): DynamoItem => ({
  [TIME_INDEX]: S(projectPartition(projectKey)),
  time_high_ms: N(before.time_high_ms),
});

/** An item holds one event, or a page of events that ends at its position. */
export async function eventsFromItem(
  item: DynamoItem,
  blobs: DynamodbBlobs,
  tenantId: string,
): Promise<EventEnvelope[]> {
  const kept = (await readText(item, 'event', blobs, tenantId)) as EventEnvelope | EventEnvelope[];
  const page = Array.isArray(kept) ? kept : [kept];
  const first = numberOf(item.position) - page.length + 1;
  return page.map((event, index) => ({ ...event, position: first + index }));
}
