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
import { DAY_S, indexAttributes, projectItem, requestItem, timeAttributes, untilValue } from './items.js';
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
import type { CachedProject } from './project-cache.js';
import { type TableNames, TTL_ATTRIBUTE } from './schema.js';
import { type ExternalText, toStoredText } from './stored-text.js';

/** The index of the attempt's mark among the writes. */
export const MARK_INDEX = 1;

interface WriteCondition {
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames?: Record<string, string>;
  readonly ExpressionAttributeValues?: DynamoItem;
}

const IS_NEW: WriteCondition = { ConditionExpression: 'attribute_not_exists(pk)' };
const EXISTS: WriteCondition = { ConditionExpression: 'attribute_exists(pk)' };

/** A batch plan as DynamoDB items. */
export class BatchWriter {
  readonly writes: TransactWriteItem[] = [];
  /** Texts that must be written before the items that refer to them. */
  readonly externalTexts: ExternalText[] = [];
  /** Index keys of events that are stored in a page. They point to the page, and are harmless if it is never written. */
  readonly indexEntries: DynamoItem[] = [];

  constructor(
    private readonly projectKey: ProjectKey,
    private readonly before: CachedProject,
    private readonly plan: BatchPlan,
    private readonly attemptId: string,
    private readonly tables: TableNames,
  ) {
    this.addRow();
    this.addPut(tables.requests, this.markItem(), { ...IS_NEW, ...ALL_OLD });
    if (before.version === 0) {
      this.addPut(tables.state, { ...projectListKey(projectKey), project_id: S(projectKey.project_id) });
    }
    for (const [subject, entry] of plan.heads) this.addHead(subject, entry);
    for (const [key, kept] of plan.requests) this.addRequest(key, kept);
    for (const eventId of plan.looseEvents)
      this.addPut(tables.state, looseEventKey(projectKey, eventId), IS_NEW);
    for (const entry of plan.members.values()) this.addMember(entry);
    for (const [scope, entry] of plan.shares) this.addShare(scope, entry);
    this.addEvents();
    if (this.writes.length > ITEMS_MAX) {
      throw new StoreRefused(
        `The command changes ${this.writes.length} items; a DynamoDB transaction allows ${ITEMS_MAX}. Split it.`,
      );
    }
  }

  /** The mark of an attempt; a process that voids the attempt writes it too. */
  markItem(): DynamoItem {
    const ttl = N(Math.ceil(this.plan.now_ms / 1000) + DAY_S);
    return { ...attemptKey(this.projectKey, this.attemptId), [TTL_ATTRIBUTE]: ttl };
  }

  private addRow(): void {
    const { version } = this.before;
    const isSame: WriteCondition = {
      ConditionExpression: '#version = :version',
      ExpressionAttributeNames: { '#version': 'version' },
      ExpressionAttributeValues: { ':version': N(version) },
    };
    const item = { ...rowKey(this.projectKey), ...projectItem(this.plan.project) };
    this.addPut(this.tables.state, item, version === 0 ? IS_NEW : isSame);
  }

  private addHead(subject: string, { assumed_seq, seq, head }: HeadEntry): void {
    const key = headKey(this.projectKey, subject);
    const condition: WriteCondition =
      assumed_seq === 0
        ? IS_NEW
        : { ConditionExpression: 'seq = :seq', ExpressionAttributeValues: { ':seq': N(assumed_seq) } };
    if (head === null) this.addCheck(this.tables.state, key, condition);
    else this.addPut(this.tables.state, { ...key, seq: N(seq), ...this.text('head', head) }, condition);
  }

  private addRequest(key: string, kept: CachedRequest | null): void {
    const condition: WriteCondition = {
      ConditionExpression: 'attribute_not_exists(pk) OR at_ms < :window',
      ExpressionAttributeValues: { ':window': N(this.plan.now_ms - REQUEST_WINDOW_MS) },
    };
    const itemKey = requestKey(this.projectKey, key);
    if (kept === null) this.addCheck(this.tables.requests, itemKey, condition);
    else this.addPut(this.tables.requests, { ...itemKey, ...requestItem(kept) }, condition);
  }

  private addMember({ scope, member, assumed, until_ms }: MemberEntry): void {
    const { state } = this.tables;
    const key = memberKey(this.projectKey, scope, member);
    const condition = this.memberCondition(assumed);
    if (until_ms !== null) this.addPut(state, { ...key, until_ms: untilValue(until_ms) }, condition);
    else if (assumed === 'absent') this.addCheck(state, key, condition);
    else this.writes.push({ Delete: { TableName: state, Key: key, ...condition } });
  }

  private memberCondition(assumed: MemberEntry['assumed']): WriteCondition {
    if (assumed === 'absent') return IS_NEW;
    if (assumed === 'present') return EXISTS;
    return {
      ConditionExpression: assumed === 'live' ? 'until_ms > :now' : 'until_ms <= :now',
      ExpressionAttributeValues: { ':now': N(this.plan.now_ms) },
    };
  }

  private addShare(scope: string, { delta, need, max }: ShareEntry): void {
    const Key = shareKey(this.projectKey, scope);
    const condition: WriteCondition | null =
      need === null
        ? null
        : {
            ConditionExpression: 'spare >= :need AND room_max <= :max',
            ExpressionAttributeValues: { ':need': N(need), ':max': N(max) },
          };
    if (delta === 0) {
      if (condition !== null) this.addCheck(this.tables.state, Key, condition);
      return;
    }
    const values = { ':delta': N(delta), ':minus': N(-delta) };
    this.writes.push({
      Update: {
        TableName: this.tables.state,
        Key,
        UpdateExpression: 'ADD registered :delta, spare :minus',
        ...condition,
        ExpressionAttributeValues: { ...condition?.ExpressionAttributeValues, ...values },
      },
    });
  }

  /** One item per event, unless a single transaction has more events than DynamoDB takes items: then pages of events. */
  private addEvents(): void {
    const { events } = this.plan;
    if (this.writes.length + events.length <= ITEMS_MAX) {
      for (const positioned of events)
        this.addEvent(positioned.position, positioned.event, this.indexed(positioned));
      return;
    }
    for (const page of pagesOf(events)) {
      const { position } = page.at(-1) as PositionedEvent;
      const kept = page.map(({ event }) => event);
      this.addEvent(position, kept, {});
    }
    const pk = S(`${projectPartition(this.projectKey)}#X#${this.attemptId}`);
    for (const positioned of events) {
      this.indexEntries.push({ pk, position: N(positioned.position), ...this.indexed(positioned) });
    }
  }

  /** Unconditional: the transaction that moves the project's row owns its positions. */
  private addEvent(position: number, kept: unknown, indexed: DynamoItem): void {
    this.addPut(this.tables.events, {
      ...eventKey(this.projectKey, position),
      at_ms: N(this.plan.now_ms),
      ...this.text('event', kept),
      ...indexed,
    });
  }

  private indexed(positioned: PositionedEvent): DynamoItem {
    const isFirst = positioned.position === this.before.position + 1;
    return {
      ...indexAttributes(this.projectKey, positioned),
      ...(isFirst ? timeAttributes(this.projectKey, this.before) : {}),
    };
  }

  private text(name: string, value: unknown): DynamoItem {
    const { attributes, external } = toStoredText(name, value);
    if (external !== null) this.externalTexts.push(external);
    return attributes;
  }

  private addPut(TableName: string, Item: DynamoItem, condition?: WriteCondition): void {
    this.writes.push({ Put: { TableName, Item, ...condition } });
  }

  private addCheck(TableName: string, Key: DynamoKey, condition: WriteCondition): void {
    this.writes.push({ ConditionCheck: { TableName, Key, ...condition } });
  }
}

/** Whoever finds the mark must see who wrote it. */
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
