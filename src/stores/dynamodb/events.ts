import { type EventEnvelope, msOf } from '../../core/events/envelope.js';
import { matcher } from '../event-matcher.js';
import type { EventQuery, ProjectKey } from '../store.js';
import type { DynamodbBlobs } from './blobs.js';
import type { DynamoClient } from './connection.js';
import { eventsFromItem, projectFromItem } from './items.js';
import {
  BUCKET_SIZE,
  bucketOf,
  bucketPartition,
  type DynamoItem,
  eventKey,
  indexKeys,
  N,
  numberOf,
  projectPartition,
  rowKey,
  S,
  textOf,
} from './keys.js';
import { mergeSorted } from './merge-sorted.js';
import type { CachedProject } from './project-cache.js';
import { INDEXED_FIELDS, type IndexedField, indexOf, TIME_INDEX } from './schema.js';
import { toStoredText } from './stored-text.js';

/** Number of buckets read concurrently when a reader wants many events. */
const BUCKETS_AT_ONCE = 8;
/** An index is eventually consistent. Events younger than this are read from the table itself. */
const INDEX_LAG_MS = 10_000;
const INDEX_PAGE = 100;

/** Positions after `after`, up to and including `until`. */
interface PositionRange {
  readonly after: number;
  readonly until: number;
}

interface TimedEvent extends EventEnvelope {
  readonly at_ms: number;
}

/** The events of one project: read by position and by every filter, and redacted. */
export class DynamodbEvents {
  constructor(
    private readonly dynamo: DynamoClient,
    private readonly blobs: DynamodbBlobs,
    private readonly projectKey: ProjectKey,
  ) {}

  async events(query: EventQuery, nowMs: number): Promise<EventEnvelope[]> {
    const found = await this.find(query, nowMs);
    return found.map(({ at_ms: _, ...event }) => event);
  }

  private async find(query: EventQuery, nowMs: number): Promise<TimedEvent[]> {
    const isTimed = query.since !== undefined || query.until !== undefined;
    const index = indexFor(query);
    const whole = { after: query.after, until: query.until_position ?? Number.POSITIVE_INFINITY };
    if (!isTimed && index === null) return this.fromTable(query, whole);
    const state = await this.state();
    if (state === null) return [];
    const within = { ...whole, until: Math.min(whole.until, state.position) };
    const range = isTimed ? await this.timeRange(query, state, within) : within;
    if (index === null) return this.fromTable(query, range);
    return this.fromIndex(query, index, range, nowMs - INDEX_LAG_MS);
  }

  async state(): Promise<CachedProject | null> {
    const item = await this.dynamo.get(this.dynamo.tables.state, rowKey(this.projectKey));
    return item === undefined ? null : projectFromItem(item);
  }

  /** Rewrites event items with reduced payloads. Nothing else ever changes such an item, so no condition is needed. */
  async redact(events: readonly EventEnvelope[]): Promise<void> {
    const eventByPosition = new Map(events.map((event) => [event.position, event]));
    for (const bucket of new Set(events.map(({ position }) => bucketOf(position)))) {
      const pk = bucketPartition(this.projectKey, bucket);
      const items = await this.dynamo.partition(this.dynamo.tables.events, pk);
      for (const item of items) await this.redactItem(item, eventByPosition);
    }
  }

  /** An item may hold a page of events, and its text may be stored separately: the old text is deleted last. */
  private async redactItem(
    item: DynamoItem,
    eventByPosition: ReadonlyMap<number, EventEnvelope>,
  ): Promise<void> {
    const { tenant_id } = this.projectKey;
    const page = await eventsFromItem(item, this.blobs, tenant_id);
    if (!page.some(({ position }) => eventByPosition.has(position))) return;
    const redactedPage = page.map((event) => {
      const { position: _, ...redacted } = eventByPosition.get(event.position) ?? event;
      return redacted;
    });
    const { attributes, external } = toStoredText(
      'event',
      page.length === 1 ? redactedPage[0] : redactedPage,
    );
    if (external !== null) await this.blobs.put(tenant_id, external.sha256, external.bytes);
    const { event: _, event_sha256, ...rest } = item;
    await this.dynamo.putAll(this.dynamo.tables.events, [{ ...rest, ...attributes }]);
    if (event_sha256 !== undefined && textOf(event_sha256) !== external?.sha256) {
      await this.blobs.drop(tenant_id, textOf(event_sha256));
    }
  }

  /** Matching events from the table alone, ordered by position. */
  private async fromTable(query: EventQuery, range: PositionRange): Promise<TimedEvent[]> {
    const matches = matcher(query);
    const found: TimedEvent[] = [];
    for await (const events of this.readBuckets(range)) {
      for (const event of events) {
        if (found.length >= query.limit) return found;
        if (matches(event)) found.push(event);
      }
    }
    return found;
  }

  /**
   * Reads bucket after bucket, up to the first gap: a transaction becomes visible item by item, and a reader that
   * skipped an item would never see it.
   */
  private async *readBuckets(range: PositionRange): AsyncGenerator<TimedEvent[]> {
    let last = range.after;
    for (let step = 1; last < range.until; step = BUCKETS_AT_ONCE) {
      const first = bucketOf(last + 1);
      const until = Math.min(first + step - 1, bucketOf(range.until));
      const buckets = await Promise.all(
        Array.from({ length: until - first + 1 }, (_, index) => this.readBucket(first + index, range)),
      );
      for (const [index, events] of buckets.entries()) {
        const run = events.filter((event) => event.position > last);
        const gap = run.findIndex((event, index) => event.position !== last + 1 + index);
        const whole = gap === -1 ? run : run.slice(0, gap);
        yield whole;
        last += whole.length;
        if (last < Math.min(range.until, (first + index + 1) * BUCKET_SIZE - 1)) return;
      }
    }
  }

  private async readBucket(bucket: number, { after, until }: PositionRange): Promise<TimedEvent[]> {
    const items = await this.dynamo.all({
      TableName: this.dynamo.tables.events,
      // A page is stored under its last position, so the query has no upper bound.
      KeyConditionExpression: 'pk = :pk AND #position > :after',
      ExpressionAttributeNames: { '#position': 'position' },
      ExpressionAttributeValues: { ':pk': S(bucketPartition(this.projectKey, bucket)), ':after': N(after) },
    });
    const events = (await Promise.all(items.map((item) => this.read(item)))).flat();
    return events.filter(({ position }) => position > after && position <= until);
  }

  private async read(item: DynamoItem): Promise<TimedEvent[]> {
    const at_ms = numberOf(item.at_ms);
    const events = await eventsFromItem(item, this.blobs, this.projectKey.tenant_id);
    return events.map((event) => ({ ...event, at_ms }));
  }

  /** Reads events older than `indexedUntilMs` through the index, and younger ones from the table. */
  private async fromIndex(
    query: EventQuery,
    index: IndexChoice,
    range: PositionRange,
    indexedUntilMs: number,
  ): Promise<TimedEvent[]> {
    const found = await this.indexed(query, index, range);
    const isFull = found.length >= query.limit;
    if (isFull && found.every(({ at_ms }) => at_ms < indexedUntilMs)) return found;
    const firstUnindexed = await this.firstUnindexed(range, indexedUntilMs);
    const indexed = found.filter(({ position }) => position < firstUnindexed);
    const rest = await this.fromTable(query, {
      after: Math.max(range.after, firstUnindexed - 1),
      until: range.until,
    });
    return [...indexed, ...rest].slice(0, query.limit);
  }

  /** The first position of the range from which on events may still be missing in an index. */
  private async firstUnindexed(range: PositionRange, indexedUntilMs: number): Promise<number> {
    let firstUnindexed = range.until + 1;
    for (let bucket = bucketOf(range.until); bucket >= bucketOf(range.after + 1); bucket -= 1) {
      const events = await this.readBucket(bucket, range);
      const first = events.find(({ at_ms }) => at_ms >= indexedUntilMs);
      if (first !== undefined) firstUnindexed = first.position;
      if (first === undefined || first !== events[0]) break;
    }
    return firstUnindexed;
  }

  private async indexed(query: EventQuery, index: IndexChoice, range: PositionRange): Promise<TimedEvent[]> {
    const matches = matcher(query);
    const found: TimedEvent[] = [];
    let page: number[] = [];
    const take = async () => {
      for (const event of await this.readPositions(page)) if (matches(event)) found.push(event);
      page = [];
    };
    const keys = index.values.flatMap((value) => indexKeys(this.projectKey, index.field, value));
    const pages = keys.map((key) => this.indexPages(index.field, key, range));
    for await (const position of mergeSorted(pages, (a, b) => a < b)) {
      if (page.at(-1) !== position) page.push(position);
      if (page.length === Math.min(INDEX_PAGE, query.limit)) await take();
      if (found.length >= query.limit) break;
    }
    await take();
    return found.slice(0, query.limit);
  }

  /** An index yields positions; the caller checks whether the event there matches. */
  private async *indexPages(
    field: IndexedField,
    key: string,
    { after, until }: PositionRange,
  ): AsyncGenerator<number[]> {
    if (after >= until) return;
    const pages = this.dynamo.pages({
      TableName: this.dynamo.tables.events,
      IndexName: indexOf(field),
      KeyConditionExpression: '#key = :key AND #position BETWEEN :first AND :last',
      ExpressionAttributeNames: { '#key': indexOf(field), '#position': 'position' },
      ExpressionAttributeValues: { ':key': S(key), ':first': N(after + 1), ':last': N(until) },
      Limit: INDEX_PAGE,
    });
    for await (const items of pages) yield items.map((item) => numberOf(item.position));
  }

  /** Events by position, in order. An event without an item of its own is part of a page. */
  private async readPositions(positions: readonly number[]): Promise<TimedEvent[]> {
    const keys = positions.map((position) => eventKey(this.projectKey, position));
    const items = await this.dynamo.getAll(this.dynamo.tables.events, keys);
    const found = new Map<number, TimedEvent>();
    const add = (events: readonly TimedEvent[]) => {
      for (const event of events) found.set(event.position, event);
    };
    for (const item of items) add(await this.read(item));
    for (const position of positions) {
      if (!found.has(position)) {
        add(await this.readBucket(bucketOf(position), { after: position - 1, until: position }));
      }
    }
    return positions.flatMap((position) => found.get(position) ?? []);
  }

  /**
   * The range of positions that contains every event of the requested time. The time index holds, for the first event
   * of each transaction, the latest timestamp before it: no event before an entry is later than that, and no event from
   * it on is earlier by more than the largest lateness ever seen. Missing entries only widen the range.
   */
  private async timeRange(
    query: EventQuery,
    state: CachedProject,
    { after, until }: PositionRange,
  ): Promise<PositionRange> {
    const [from, to] = await Promise.all([
      query.since === undefined ? null : this.timeEntry('<', msOf(query.since)),
      query.until === undefined ? null : this.timeEntry('>=', msOf(query.until) + state.late_max_ms),
    ]);
    return {
      after: Math.max(after, (from ?? 1) - 1),
      until: Math.min(until, to === null ? Number.POSITIVE_INFINITY : to - 1),
    };
  }

  private async timeEntry(relation: '<' | '>=', atMs: number): Promise<number | null> {
    if (Number.isNaN(atMs)) return null;
    const pages = this.dynamo.pages({
      TableName: this.dynamo.tables.events,
      IndexName: TIME_INDEX,
      KeyConditionExpression: `${TIME_INDEX} = :key AND time_high_ms ${relation} :at`,
      ExpressionAttributeValues: { ':key': S(projectPartition(this.projectKey)), ':at': N(atMs) },
      ScanIndexForward: relation === '>=',
      Limit: 1,
    });
    for await (const [item] of pages) if (item !== undefined) return numberOf(item.position);
    return null;
  }
}

type IndexChoice = NonNullable<ReturnType<typeof indexFor>>;

/** The index for a query. Fields are ordered by selectivity: those that match the fewest events come first. */
function indexFor(query: EventQuery) {
  for (const field of INDEXED_FIELDS) {
    const value = field === 'event_type' ? query.types : query[field];
    if (value !== undefined) return { field, values: typeof value === 'string' ? [value] : value };
  }
  return null;
}
