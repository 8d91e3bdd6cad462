import type { EventEnvelope } from '../../core/events/envelope.js';
import type { ProjectKey } from '../store.js';
import type { DynamoClient } from './connection.js';
import {
  BUCKET_SIZE,
  bucketOf,
  bucketPartition,
  type DynamoItem,
  indexPartition,
  N,
  numberOf,
  S,
  textOf,
  timePartition,
} from './keys.js';
import { INDEXED_FIELDS, type IndexedField } from './schema.js';

/** A page of events as it was read. */
export interface ReadPage {
  readonly item: DynamoItem;
  readonly events: readonly EventEnvelope[];
}

/** Positions after `after`, up to and including `until`. */
export interface PositionRange {
  readonly after: number;
  readonly until: number;
}

const firstOfBucket = (bucket: number): number => Math.max(1, bucket * BUCKET_SIZE);
export const lastOfBucket = (bucket: number): number => (bucket + 1) * BUCKET_SIZE - 1;
/** The number of buckets to which nothing will be added. */
export const completeBucketCount = (position: number): number => bucketOf(position + 1);

const POSTINGS_AT_ONCE = 100;

/**
 * The index of a project's events: one item per value of a field and bucket, which lists the pages with that value. An
 * entry per event would cost more than the event. A bucket is indexed when it is complete, from its events alone, so
 * every coordinator that indexes it writes the same items. The project's row has the number of indexed buckets, and so
 * tells which events the index includes.
 */
export class BucketIndex {
  constructor(
    private readonly dynamo: DynamoClient,
    private readonly projectKey: ProjectKey,
  ) {}

  /** Indexes a bucket. Returns false if its events are not all visible yet. */
  async write(bucket: number, pages: readonly ReadPage[]): Promise<boolean> {
    const count = pages.reduce((sum, { events }) => sum + events.length, 0);
    if (count !== lastOfBucket(bucket) - firstOfBucket(bucket) + 1) return false;
    await this.dynamo.putAll(this.dynamo.tables.log, this.itemsOf(bucket, pages));
    return true;
  }

  private itemsOf(bucket: number, pages: readonly ReadPage[]): DynamoItem[] {
    const sk = N(bucket);
    const pagesByKey = new Map<string, Set<number>>();
    for (const { item, events } of pages) {
      const page = numberOf(item.sk) - bucket * BUCKET_SIZE;
      for (const event of events) {
        for (const key of this.keysOf(event))
          pagesByKey.set(key, (pagesByKey.get(key) ?? new Set()).add(page));
      }
    }
    const time: DynamoItem = {
      pk: S(timePartition(this.projectKey)),
      sk: pages[0]?.item.high_ms ?? N(0),
      position: N(firstOfBucket(bucket)),
    };
    const postings = [...pagesByKey].map(([pk, pages]) => ({ pk: S(pk), sk, pages: S([...pages].join()) }));
    return [time, ...postings];
  }

  /** The index keys of an event. A `task_id` that equals the subject is indexed only as the subject. */
  private keysOf(event: EventEnvelope): string[] {
    return INDEXED_FIELDS.flatMap((field) => {
      const value = event[field];
      if (value === undefined || (field === 'task_id' && value === event.subject)) return [];
      return [indexPartition(this.projectKey, field, value)];
    });
  }

  /** The keys of the pages in which the field may have one of the values, from one or more ordered sources. */
  sourcesFor(
    field: IndexedField,
    values: readonly string[],
    range: PositionRange,
  ): AsyncGenerator<DynamoItem[]>[] {
    const fields: readonly IndexedField[] = field === 'task_id' ? ['task_id', 'subject'] : [field];
    return fields.flatMap((name) => values.map((value) => this.pagesWith(name, value, range)));
  }

  private async *pagesWith(
    field: IndexedField,
    value: string,
    range: PositionRange,
  ): AsyncGenerator<DynamoItem[]> {
    if (range.after >= range.until) return;
    const postings = this.dynamo.pages({
      TableName: this.dynamo.tables.log,
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :first AND :last',
      ExpressionAttributeValues: {
        ':pk': S(indexPartition(this.projectKey, field, value)),
        ':first': N(bucketOf(range.after + 1)),
        ':last': N(bucketOf(range.until)),
      },
      Limit: POSTINGS_AT_ONCE,
    });
    for await (const items of postings) {
      const keys = items.flatMap((item) => this.keysIn(item));
      yield keys.filter(({ sk }) => numberOf(sk) > range.after);
    }
  }

  private keysIn(item: DynamoItem): DynamoItem[] {
    const bucket = numberOf(item.sk);
    const pk = S(bucketPartition(this.projectKey, bucket));
    return textOf(item.pages)
      .split(',')
      .map((page) => ({ pk, sk: N(bucket * BUCKET_SIZE + Number(page)) }));
  }

  /**
   * Compares `atMs` with the latest timestamp of any event before each bucket. Returns the first position of the last
   * bucket for which that timestamp is less (`<`), or of the first bucket for which it is not (`>=`). Null: no indexed
   * bucket qualifies, or `atMs` is not a number.
   */
  async bucketStartAt(relation: '<' | '>=', atMs: number): Promise<number | null> {
    if (Number.isNaN(atMs)) return null;
    const entries = this.dynamo.pages({
      TableName: this.dynamo.tables.log,
      KeyConditionExpression: `pk = :pk AND sk ${relation} :at`,
      ExpressionAttributeValues: { ':pk': S(timePartition(this.projectKey)), ':at': N(atMs) },
      ScanIndexForward: relation === '>=',
      Limit: 1,
    });
    for await (const [item] of entries) if (item !== undefined) return numberOf(item.position);
    return null;
  }
}
