import type { CachedRequest } from '../request-cache.js';
import { REQUEST_WINDOW_MS, type StoredHead } from '../store.js';
import type { DynamodbBlobs } from './blobs.js';
import { type DynamoItem, N, numberOf, S, textOf } from './keys.js';
import { type CachedProject, EMPTY_PROJECT, type PermitShare } from './project-cache.js';
import { TTL_ATTRIBUTE } from './schema.js';
import { readText } from './stored-text.js';

/** Conversions between the store's data and DynamoDB items. */

export const DAY_S = 86_400;

const STATE_FIELDS = Object.keys(EMPTY_PROJECT) as (keyof CachedProject)[];

export const projectItem = (state: CachedProject): DynamoItem =>
  Object.fromEntries(STATE_FIELDS.map((field) => [field, N(state[field])]));

/** The state of a project. Without an item, nothing was ever written to the project. */
export const projectFromItem = (item: DynamoItem | undefined): CachedProject =>
  Object.fromEntries(
    STATE_FIELDS.map((field) => [field, numberOf(item?.[field])]),
  ) as unknown as CachedProject;

export const headFromItem = async (
  item: DynamoItem,
  blobs: DynamodbBlobs,
  tenantId: string,
): Promise<StoredHead> => JSON.parse(await readText(item, 'head', blobs, tenantId));

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

/** Stands for `Infinity`, which DynamoDB does not have: later than any time. */
const FOREVER_MS = Number.MAX_SAFE_INTEGER;
export const untilValue = (untilMs: number) => N(Math.min(untilMs, FOREVER_MS));
export const untilFromItem = (item: DynamoItem): number => {
  const untilMs = numberOf(item.until_ms);
  return untilMs === FOREVER_MS ? Number.POSITIVE_INFINITY : untilMs;
};
