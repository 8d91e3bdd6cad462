import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { CachedRequest } from '../request-cache.js';
import { type ProjectKey, REQUEST_WINDOW_MS, StoreRefused } from '../store.js';
import {
  type BatchPlan,
  type HeadEntry,
  ITEMS_MAX,
  type MemberEntry,
  type PositionedEvent,
  type ShareEntry,
} from './batch-plan.js';
import type { DynamodbBlobs } from './blobs.js';
import {
  DAY_S,
  headFromItem,
  indexAttributes,
  projectFromItem,
  projectItem,
  requestFromItem,
  requestItem,
  shareFromItem,
  timeAttributes,
  untilFromItem,
  untilValue,
} from './items.js';
import {
  attemptKey,
  bucketOf,
  type DynamoItem,
  type DynamoKey,
  eventKey,
  headKey,
  looseEventKey,
  memberKey,
  N,
  projectListKey,
  projectPartition,
  requestKey,
  rowKey,
  S,
  shareKey,
} from './keys.js';
import { EMPTY_PROJECT, memberName, type ProjectCache } from './project-cache.js';
import { type Tables, TTL_ATTRIBUTE } from './schema.js';
import { type StoredText, toStoredText } from './stored-text.js';

/** One write of a DynamoDB transaction, and what to learn from its failed condition. */
export interface ConditionalWrite {
  readonly item: TransactWriteItem;
  readonly onConditionFailed?: (existing: DynamoItem | undefined) => void | Promise<void>;
}

/** A batch plan as DynamoDB items. */
export interface BatchWrites {
  readonly writes: readonly ConditionalWrite[];
  /** Texts that must be written before the items that refer to them. */
  readonly externalTexts: readonly StoredText[];
  /** Index keys of events that are stored in a page. They point to the page, and are harmless if it is never written. */
  readonly indexEntries: readonly DynamoItem[];
}

/** The index of the attempt's mark among the writes. */
export const MARK_INDEX = 1;

interface WriteCondition {
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames?: Record<string, string>;
  readonly ExpressionAttributeValues?: DynamoItem;
}

const IS_NEW: WriteCondition = { ConditionExpression: 'attribute_not_exists(pk)' };
const EXISTS: WriteCondition = { ConditionExpression: 'attribute_exists(pk)' };

export class BatchWriter {
  private readonly writes: ConditionalWrite[] = [];
  private readonly externalTexts: StoredText[] = [];
  private readonly indexEntries: DynamoItem[] = [];

  constructor(
    private readonly project: ProjectKey,
    private readonly cache: ProjectCache,
    private readonly plan: BatchPlan,
    private readonly attemptId: string,
    private readonly tables: Tables,
    private readonly blobs: DynamodbBlobs,
  ) {}

  write(): BatchWrites {
    this.row();
    this.mark();
    if (this.cache.project.version === 0) this.projectListEntry();
    for (const [subject, entry] of this.plan.heads) this.head(subject, entry);
    for (const [key, kept] of this.plan.requests) this.request(key, kept);
    for (const eventId of this.plan.looseEvents) this.looseEvent(eventId);
    for (const entry of this.plan.members.values()) this.member(entry);
    for (const [scope, entry] of this.plan.shares) this.share(scope, entry);
    this.events();
    if (this.writes.length > ITEMS_MAX) {
      throw new StoreRefused(
        `One command changes ${this.writes.length} items at once, and DynamoDB takes ${ITEMS_MAX}: ask for less at a time.`,
      );
    }
    return { writes: this.writes, externalTexts: this.externalTexts, indexEntries: this.indexEntries };
  }

  /** The mark of an attempt; a process that voids the attempt writes it too. */
  markItem(): DynamoItem {
    const ttl = N(Math.ceil(this.plan.now_ms / 1000) + DAY_S);
    return { ...attemptKey(this.project, this.attemptId), [TTL_ATTRIBUTE]: ttl };
  }

  private row(): void {
    const { cache, plan, project } = this;
    const { version } = cache.project;
    const condition: WriteCondition =
      version === 0
        ? IS_NEW
        : {
            ConditionExpression: '#version = :version',
            ExpressionAttributeNames: { '#version': 'version' },
            ExpressionAttributeValues: { ':version': N(version) },
          };
    this.put(this.tables.state, { ...rowKey(project), ...projectItem(plan.project) }, condition, (existing) =>
      cache.setProject(existing === undefined ? EMPTY_PROJECT : projectFromItem(existing)),
    );
  }

  private mark(): void {
    this.put(this.tables.requests, this.markItem(), IS_NEW);
  }

  private projectListEntry(): void {
    const { project } = this;
    this.put(this.tables.state, { ...projectListKey(project), project_id: S(project.project_id) });
  }

  private head(subject: string, entry: HeadEntry): void {
    const { assumed_seq, seq, isSwapped: swapped, head } = entry;
    const key = headKey(this.project, subject);
    const condition: WriteCondition =
      assumed_seq === 0
        ? IS_NEW
        : { ConditionExpression: 'seq = :seq', ExpressionAttributeValues: { ':seq': N(assumed_seq) } };
    const { heads } = this.cache;
    const onConditionFailed = async (existing: DynamoItem | undefined) => {
      const { tenant_id } = this.project;
      heads.set(subject, existing === undefined ? null : await headFromItem(existing, this.blobs, tenant_id));
    };
    if (!swapped) this.check(this.tables.state, key, condition, onConditionFailed);
    else
      this.put(
        this.tables.state,
        { ...key, seq: N(seq), ...this.text('head', head) },
        condition,
        onConditionFailed,
      );
  }

  private request(key: string, kept: CachedRequest | null): void {
    const condition: WriteCondition = {
      ConditionExpression: 'attribute_not_exists(pk) OR at_ms < :window',
      ExpressionAttributeValues: { ':window': N(this.plan.now_ms - REQUEST_WINDOW_MS) },
    };
    const onConditionFailed = (existing: DynamoItem | undefined) => {
      this.cache.requests.set(key, existing === undefined ? null : requestFromItem(existing));
    };
    const itemKey = requestKey(this.project, key);
    if (kept === null) this.check(this.tables.requests, itemKey, condition, onConditionFailed);
    else this.put(this.tables.requests, { ...itemKey, ...requestItem(kept) }, condition, onConditionFailed);
  }

  private looseEvent(eventId: string): void {
    this.put(this.tables.state, looseEventKey(this.project, eventId), IS_NEW, () => {
      this.cache.looseEvents.add(eventId);
    });
  }

  private member({ scope, member, assumed, until_ms }: MemberEntry): void {
    const key = memberKey(this.project, scope, member);
    const condition = this.memberCondition(assumed);
    const onConditionFailed = (existing: DynamoItem | undefined) => {
      this.cache.members.set(
        memberName(scope, member),
        existing === undefined ? null : untilFromItem(existing),
      );
    };
    if (until_ms !== null) {
      this.put(this.tables.state, { ...key, until_ms: untilValue(until_ms) }, condition, onConditionFailed);
    } else if (assumed === 'absent') {
      this.check(this.tables.state, key, condition, onConditionFailed);
    } else {
      this.add(
        { Delete: { TableName: this.tables.state, Key: key, ...condition, ...ALL_OLD } },
        onConditionFailed,
      );
    }
  }

  private memberCondition(assumed: MemberEntry['assumed']): WriteCondition {
    if (assumed === 'absent') return IS_NEW;
    if (assumed === 'present') return EXISTS;
    return {
      ConditionExpression: assumed === 'live' ? 'until_ms > :now' : 'until_ms <= :now',
      ExpressionAttributeValues: { ':now': N(this.plan.now_ms) },
    };
  }

  private share(scope: string, { delta, need, max }: ShareEntry): void {
    const Key = shareKey(this.project, scope);
    const condition: WriteCondition | null =
      need === null
        ? null
        : {
            ConditionExpression: 'spare >= :need AND room_max <= :max',

            ExpressionAttributeValues: { ':need': N(need), ':max': N(max) },
          };
    const onConditionFailed = (existing: DynamoItem | undefined) => {
      this.cache.shares.set(scope, existing === undefined ? null : shareFromItem(existing));
    };
    if (delta === 0) {
      if (condition !== null) this.check(this.tables.state, Key, condition, onConditionFailed);
      return;
    }
    const Update = {
      TableName: this.tables.state,
      Key,
      UpdateExpression: 'ADD registered :delta, spare :minus',
      ...(condition === null ? {} : { ConditionExpression: condition.ConditionExpression }),

      ExpressionAttributeValues: {
        ...condition?.ExpressionAttributeValues,
        ':delta': N(delta),
        ':minus': N(-delta),
      },
      ...ALL_OLD,
    };
    this.add({ Update }, onConditionFailed);
  }

  /** One item per event, unless a single transaction has more events than DynamoDB takes items: then pages of events. */
  private events(): void {
    const { events } = this.plan;
    if (this.writes.length + events.length <= ITEMS_MAX) {
      for (const positioned of events)
        this.event(positioned.position, positioned.event, this.indexed(positioned));
      return;
    }
    for (const page of pagesOf(events)) {
      const { position } = page.at(-1) as PositionedEvent;
      const kept = page.map(({ event }) => event);
      this.event(position, kept, {});
    }
    const pk = S(`${projectPartition(this.project)}#X#${this.attemptId}`);
    for (const positioned of events) {
      this.indexEntries.push({ pk, position: N(positioned.position), ...this.indexed(positioned) });
    }
  }

  /** Unconditional: the transaction that moves the project's row owns its positions. */
  private event(position: number, kept: unknown, indexed: DynamoItem): void {
    this.put(this.tables.events, {
      ...eventKey(this.project, position),
      at_ms: N(this.plan.now_ms),
      ...this.text('event', kept),
      ...indexed,
    });
  }

  private indexed(positioned: PositionedEvent): DynamoItem {
    const before = this.cache.project;
    const isFirst = positioned.position === before.position + 1;
    return {
      ...indexAttributes(this.project, positioned),
      ...(isFirst ? timeAttributes(this.project, before) : {}),
    };
  }

  private text(name: string, value: unknown): DynamoItem {
    const text = toStoredText(name, value);
    if (text.external !== null) this.externalTexts.push(text);
    return text.attributes;
  }

  private put(
    table: string,
    item: DynamoItem,
    condition?: WriteCondition,
    onConditionFailed?: ConditionalWrite['onConditionFailed'],
  ): void {
    const guarded = condition === undefined ? {} : { ...condition, ...ALL_OLD };
    this.add({ Put: { TableName: table, Item: item, ...guarded } }, onConditionFailed);
  }

  private check(
    table: string,
    key: DynamoKey,
    condition: WriteCondition,
    onConditionFailed: ConditionalWrite['onConditionFailed'],
  ): void {
    this.add({ ConditionCheck: { TableName: table, Key: key, ...condition, ...ALL_OLD } }, onConditionFailed);
  }

  private add(item: TransactWriteItem, onConditionFailed: ConditionalWrite['onConditionFailed']): void {
    this.writes.push(onConditionFailed === undefined ? { item } : { item, onConditionFailed });
  }
}

const ALL_OLD = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;

/** A page stays within its bucket, so that reading the bucket finds all of it. */
function pagesOf(events: readonly PositionedEvent[]): PositionedEvent[][] {
  const pages = new Map<number, PositionedEvent[]>();
  for (const positioned of events) {
    const bucket = bucketOf(positioned.position);
    pages.set(bucket, [...(pages.get(bucket) ?? []), positioned]);
  }
  return [...pages.values()];
}
