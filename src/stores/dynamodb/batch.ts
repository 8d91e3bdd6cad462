import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { CachedRequest } from '../request-cache.js';
import { type ProjectKey, REQUEST_WINDOW_MS, StoreRefused } from '../store.js';
import {
  type BatchPlan,
  type HeadEntry,
  ITEMS_MAX,
  type MemberEntry,
  type ShareEntry,
} from './batch-plan.js';
import type { AtomicWrite } from './connection.js';
import { pageItem } from './event-pages.js';
import { DAY_S, projectItem, requestItem, untilValue } from './items.js';
import {
  attemptKey,
  type DynamoItem,
  type DynamoKey,
  headKey,
  looseEventKey,
  memberKey,
  N,
  pageKey,
  projectListKey,
  requestKey,
  rowKey,
  S,
  shareKey,
} from './keys.js';
import { type CachedProject, UNLIMITED } from './project-cache.js';
import { ATTEMPT_ATTRIBUTE, type TableNames, TTL_ATTRIBUTE, VOID_ATTRIBUTE } from './schema.js';
import { type ExternalText, toStoredText } from './stored-text.js';

interface WriteCondition {
  readonly ConditionExpression: string;
  readonly ExpressionAttributeValues?: DynamoItem;
}

const IS_NEW: WriteCondition = { ConditionExpression: 'attribute_not_exists(pk)' };
const EXISTS: WriteCondition = { ConditionExpression: 'attribute_exists(pk)' };
const spareCondition = (minSpare: number, max: number): WriteCondition =>
  max === UNLIMITED
    ? { ConditionExpression: 'spare >= :need', ExpressionAttributeValues: { ':need': N(minSpare) } }
    : {
        ConditionExpression: 'spare >= :need AND room_max <= :max',
        ExpressionAttributeValues: { ':need': N(minSpare), ':max': N(max) },
      };

/** Makes the DynamoDB writes of a batch plan. */
export class BatchWriteBuilder {
  readonly writes: TransactWriteItem[] = [];
  /** Texts that must be written before the items that refer to them. */
  readonly externalTexts: ExternalText[] = [];

  constructor(
    private readonly projectKey: ProjectKey,
    private readonly previousProject: CachedProject,
    private readonly plan: BatchPlan,
    private readonly attemptId: string,
    private readonly tables: TableNames,
  ) {
    this.addPut(
      tables.state,
      { ...rowKey(projectKey), ...projectItem(plan.project) },
      this.unmovedCondition(),
    );
    // A voiding put may have created the row of a project without events, but it does not list the project.
    if (previousProject.position === 0) {
      this.addPut(tables.state, { ...projectListKey(projectKey), project_id: S(projectKey.project_id) });
    }
    for (const [subject, entry] of plan.heads) this.addHead(subject, entry);
    for (const [key, completed] of plan.requests) this.addRequest(key, completed);
    for (const eventId of plan.looseEvents)
      this.addPut(tables.state, looseEventKey(projectKey, eventId), IS_NEW);
    for (const entry of plan.members.values()) this.addMember(entry);
    for (const [scope, entry] of plan.shares) this.addShare(scope, entry);
    this.addEvents();
    if (this.writes.length > ITEMS_MAX) {
      throw new StoreRefused(
        `The command changes ${this.writes.length} items; a DynamoDB transaction allows ${ITEMS_MAX}. Split the command.`,
      );
    }
  }

  /** The item that proves that the transaction happened: its first page of events or, without events, a dedicated item. */
  get mark(): AtomicWrite['mark'] {
    const [page] = this.plan.eventPages.pages;
    if (page === undefined) return { table: this.tables.requests, key: this.attemptKey };
    return { table: this.tables.log, key: pageKey(this.projectKey, page.last_position) };
  }

  /**
   * Increments the version of the project's row and changes nothing else, so the transaction can no longer happen. If the
   * project has no row, this put creates one and marks it as void.
   */
  get voidingPut(): AtomicWrite['voidingPut'] {
    const row_version = this.previousProject.row_version + 1;
    const voidAttribute = this.previousProject.row_version === 0 ? { [VOID_ATTRIBUTE]: { BOOL: true } } : {};
    const Item = {
      ...rowKey(this.projectKey),
      ...projectItem({ ...this.previousProject, row_version }),
      ...voidAttribute,
    };
    return { TableName: this.tables.state, Item, ...this.unmovedCondition() };
  }

  private get attemptKey(): DynamoKey {
    return attemptKey(this.projectKey, this.attemptId);
  }

  private unmovedCondition(): WriteCondition {
    const { row_version } = this.previousProject;
    if (row_version === 0) return IS_NEW;
    return {
      ConditionExpression: 'row_version = :version',
      ExpressionAttributeValues: { ':version': N(row_version) },
    };
  }

  private addHead(subject: string, { assumed_seq, seq, head }: HeadEntry): void {
    const key = headKey(this.projectKey, subject);
    const condition: WriteCondition =
      assumed_seq === 0
        ? IS_NEW
        : { ConditionExpression: 'seq = :seq', ExpressionAttributeValues: { ':seq': N(assumed_seq) } };
    if (head === null) this.addCheck(this.tables.state, key, condition);
    else
      this.addPut(
        this.tables.state,
        { ...key, seq: N(seq), ...this.text('head', JSON.stringify(head)) },
        condition,
      );
  }

  private addRequest(key: string, completed: CachedRequest | null): void {
    const condition: WriteCondition = {
      ConditionExpression: 'attribute_not_exists(pk) OR at_ms < :window',
      ExpressionAttributeValues: { ':window': N(this.plan.now_ms - REQUEST_WINDOW_MS) },
    };
    const itemKey = requestKey(this.projectKey, key);
    if (completed === null) this.addCheck(this.tables.requests, itemKey, condition);
    else this.addPut(this.tables.requests, { ...itemKey, ...requestItem(completed) }, condition);
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

  private addShare(scope: string, { delta, minSpare, max }: ShareEntry): void {
    const Key = shareKey(this.projectKey, scope);
    const condition = minSpare === null ? null : spareCondition(minSpare, max);
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

  /** Without conditions: the condition on the project's row ensures that no other transaction writes these positions. */
  private addEvents(): void {
    const attempt = { [ATTEMPT_ATTRIBUTE]: S(this.attemptId) };
    for (const page of this.plan.eventPages.pages) {
      const { item, external } = pageItem(this.projectKey, page);
      if (external !== null) this.externalTexts.push(external);
      this.addPut(this.tables.log, { ...item, ...attempt });
    }
    if (this.plan.eventPages.pages.length > 0) return;
    const ttl = N(Math.ceil(this.plan.now_ms / 1000) + DAY_S);
    this.addPut(this.tables.requests, { ...this.attemptKey, ...attempt, [TTL_ATTRIBUTE]: ttl });
  }

  private text(name: string, text: string): DynamoItem {
    const { attributes, external } = toStoredText(name, text);
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
