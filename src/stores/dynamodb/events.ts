import { type EventEnvelope, msOf } from '../../core/events/envelope.js';
import { lineOf } from '../event-line.js';
import { eventMatcher } from '../event-matcher.js';
import type { EventQuery, ProjectKey } from '../store.js';
import type { DynamodbBlobs } from './blobs.js';
import { BucketIndex, lastOfBucket, type PositionRange, type ReadPage } from './bucket-index.js';
import type { DynamoClient } from './connection.js';
import { eventsFromPage } from './event-pages.js';
import { projectFromItem } from './items.js';
import {
  BUCKET_SIZE,
  bucketOf,
  bucketPartition,
  type DynamoItem,
  type DynamoKey,
  N,
  numberOf,
  rowKey,
  S,
  textOf,
} from './keys.js';
import { mergeSorted } from './merge-sorted.js';
import type { CachedProject } from './project-cache.js';
import { INDEXED_FIELDS, VOID_ATTRIBUTE } from './schema.js';
import { toStoredText } from './stored-text.js';

/** Number of buckets read concurrently when a reader wants many events. */
const BUCKETS_AT_ONCE = 4;
/** Number of pages of events that an index query reads at once. */
const PAGES_AT_ONCE = 50;

/** The events of one project: read by position and by every filter, indexed and redacted. */
export class DynamodbEvents {
  private readonly index: BucketIndex;

  constructor(
    private readonly dynamo: DynamoClient,
    private readonly blobs: DynamodbBlobs,
    private readonly projectKey: ProjectKey,
  ) {
    this.index = new BucketIndex(dynamo, projectKey);
  }

  async events(query: EventQuery): Promise<EventEnvelope[]> {
    const isTimed = query.since !== undefined || query.until !== undefined;
    const choice = indexFor(query);
    const requested = { after: query.after, until: query.until_position ?? Number.POSITIVE_INFINITY };
    if (!isTimed && choice === null) return this.fromBuckets(query, upTo(requested, query.limit));
    const state = await this.state();
    if (state === null) return [];
    const existing = { ...requested, until: Math.min(requested.until, state.position) };
    const range = isTimed ? await this.timeRange(query, state, existing) : existing;
    if (choice === null) return this.fromBuckets(query, range);
    const indexedUntil = lastOfBucket(state.indexed_buckets - 1);
    const matching = await this.fromIndex(query, choice, {
      ...range,
      until: Math.min(range.until, indexedUntil),
    });
    if (matching.length >= query.limit) return matching;
    const unindexed = { ...range, after: Math.max(range.after, indexedUntil) };
    return [
      ...matching,
      ...(await this.fromBuckets({ ...query, limit: query.limit - matching.length }, unindexed)),
    ];
  }

  async state(): Promise<CachedProject | null> {
    const item = await this.dynamo.get(this.dynamo.tables.state, rowKey(this.projectKey));
    return item === undefined || VOID_ATTRIBUTE in item ? null : projectFromItem(item);
  }

  /** Adds a complete bucket to the index. Returns false if its events are not all visible yet. */
  async indexBucket(bucket: number): Promise<boolean> {
    return this.index.write(bucket, await this.readPages(bucket, 0));
  }

  /** Rewrites pages with reduced payloads. Nothing else ever changes a page, so no condition is needed. */
  async redact(events: readonly EventEnvelope[]): Promise<void> {
    const eventByPosition = new Map(events.map((event) => [event.position, event]));
    for (const bucket of new Set(events.map(({ position }) => bucketOf(position)))) {
      for (const page of await this.readPages(bucket, 0)) await this.redactPage(page, eventByPosition);
    }
  }

  /** Rewrites a page if it has any of these events. If its text is stored separately, the old text is deleted last. */
  private async redactPage(
    { item, events }: ReadPage,
    eventByPosition: ReadonlyMap<number, EventEnvelope>,
  ): Promise<void> {
    if (!events.some(({ position }) => eventByPosition.has(position))) return;
    const { tenant_id } = this.projectKey;
    const lines = events.map((event) => lineOf(eventByPosition.get(event.position) ?? event));
    const { attributes, external } = toStoredText('events', lines.join('\n'));
    if (external !== null) await this.blobs.put(tenant_id, external.sha256, external.bytes);
    const { events: _, events_sha256, ...rest } = item;
    await this.dynamo.putAll(this.dynamo.tables.log, [{ ...rest, ...attributes }]);
    if (events_sha256 !== undefined && textOf(events_sha256) !== external?.sha256) {
      await this.blobs.drop(tenant_id, textOf(events_sha256));
    }
  }

  /** Matching events from the buckets alone, ordered by position. */
  private async fromBuckets(query: EventQuery, range: PositionRange): Promise<EventEnvelope[]> {
    const matches = eventMatcher(query);
    const matching: EventEnvelope[] = [];
    for await (const events of this.readBuckets(range)) {
      for (const event of events) {
        if (matching.length >= query.limit) return matching;
        if (matches(event)) matching.push(event);
      }
    }
    return matching;
  }

  /**
   * Reads bucket after bucket, up to the first gap: a transaction becomes visible item by item, and a reader that
   * skipped an item would never see it.
   */
  private async *readBuckets(range: PositionRange): AsyncGenerator<EventEnvelope[]> {
    let last = range.after;
    for (let step = 1; last < range.until; step = BUCKETS_AT_ONCE) {
      const first = bucketOf(last + 1);
      const until = Math.min(first + step - 1, bucketOf(range.until));
      const buckets = await Promise.all(
        Array.from({ length: until - first + 1 }, (_, index) =>
          this.readPages(first + index, last, range.until),
        ),
      );
      for (const [index, pages] of buckets.entries()) {
        const events = pages.flatMap((page) => page.events);
        const inRange = events.filter(({ position }) => position > last && position <= range.until);
        const gapIndex = inRange.findIndex((event, index) => event.position !== last + 1 + index);
        const beforeGap = gapIndex === -1 ? inRange : inRange.slice(0, gapIndex);
        yield beforeGap;
        last += beforeGap.length;
        if (last < Math.min(range.until, lastOfBucket(first + index))) return;
      }
    }
  }

  /** The pages of a bucket that end after `after`, up to the page that contains `until`. */
  private async readPages(
    bucket: number,
    after: number,
    until = Number.POSITIVE_INFINITY,
  ): Promise<ReadPage[]> {
    const replies = this.dynamo.pages({
      TableName: this.dynamo.tables.log,
      KeyConditionExpression: 'pk = :pk AND sk > :after',
      ExpressionAttributeValues: { ':pk': S(bucketPartition(this.projectKey, bucket)), ':after': N(after) },
      // No page is empty, so no more pages than positions are needed.
      ...(until - after < BUCKET_SIZE ? { Limit: until - after } : {}),
    });
    const pages: ReadPage[] = [];
    for await (const items of replies) {
      pages.push(...(await Promise.all(items.map((item) => this.read(item)))));
      if (numberOf(items.at(-1)?.sk) >= until) break;
    }
    return pages;
  }

  private async read(item: DynamoItem): Promise<ReadPage> {
    return { item, events: await eventsFromPage(item, this.blobs, this.projectKey) };
  }

  /** Matching events, found with the index. The index yields pages; the events in them are checked one by one. */
  private async fromIndex(
    query: EventQuery,
    { field, values }: IndexChoice,
    range: PositionRange,
  ): Promise<EventEnvelope[]> {
    const matches = eventMatcher({ ...query, until_position: range.until });
    const matching: EventEnvelope[] = [];
    let keys: DynamoKey[] = [];
    const readMatches = async () => {
      const pages = await Promise.all(
        (await this.dynamo.getAll(this.dynamo.tables.log, keys)).map((item) => this.read(item)),
      );
      pages.sort((a, b) => numberOf(a.item.sk) - numberOf(b.item.sk));
      for (const event of pages.flatMap((page) => page.events)) if (matches(event)) matching.push(event);
      keys = [];
    };
    const sources = this.index.sourcesFor(field, values, range);
    for await (const key of mergeSorted(sources, (a, b) => numberOf(a.sk) < numberOf(b.sk))) {
      if (keys.at(-1)?.sk?.N !== key.sk?.N) keys.push(key);
      if (keys.length === Math.min(PAGES_AT_ONCE, query.limit)) await readMatches();
      if (matching.length >= query.limit) break;
    }
    await readMatches();
    return matching.slice(0, query.limit);
  }

  /**
   * The range of positions that contains every event of the requested time. The index has, for each bucket, the latest
   * timestamp of all events before the bucket. No event from the bucket on is earlier than that by more than `late_max_ms`.
   */
  private async timeRange(
    query: EventQuery,
    state: CachedProject,
    { after, until }: PositionRange,
  ): Promise<PositionRange> {
    const [from, to] = await Promise.all([
      query.since === undefined ? null : this.index.bucketStartAt('<', msOf(query.since)),
      query.until === undefined
        ? null
        : this.index.bucketStartAt('>=', msOf(query.until) + state.late_max_ms),
    ]);
    return {
      after: Math.max(after, (from ?? 1) - 1),
      until: Math.min(until, to === null ? Number.POSITIVE_INFINITY : to - 1),
    };
  }
}

/** The first `limit` positions of a range. */
const upTo = ({ after, until }: PositionRange, limit: number): PositionRange => ({
  after,
  until: Math.min(until, after + limit),
});

type IndexChoice = NonNullable<ReturnType<typeof indexFor>>;

/** The index for a query. Fields are ordered by selectivity: those that match the fewest events come first. */
function indexFor(query: EventQuery) {
  for (const field of INDEXED_FIELDS) {
    const value = field === 'event_type' ? query.types : query[field];
    if (value !== undefined) return { field, values: typeof value === 'string' ? [value] : value };
  }
  return null;
}
