import { randomUUID } from 'node:crypto';
import type { SteadyClock } from '../clock.js';
import {
  type CommitOutcome,
  type ProjectKey,
  StoreUnavailable,
  StoreUncertain,
  type Transaction,
} from '../store.js';
import { BatchWriter, type BatchWrites, type ConditionalWrite, MARK_INDEX } from './batch.js';
import { BatchPlan, type PlanNeed } from './batch-plan.js';
import type { DynamodbBlobs } from './blobs.js';
import { type DynamoClient, pause } from './connection.js';
import { headFromItem, projectFromItem, requestFromItem, untilFromItem } from './items.js';
import { type DynamoItem, type DynamoKey, headKey, memberKey, requestKey, rowKey } from './keys.js';
import type { PermitShares } from './permits.js';
import { EMPTY_PROJECT, memberName, ProjectCache } from './project-cache.js';

/** How long a commit may lose to concurrent commits, and the clock that measures it. */
export interface ContentionLimit {
  readonly contention_ms: number;
  monotonicMs(): number;
}

/**
 * Commits the transactions of one project, one call at a time: the project's row admits one DynamoDB transaction at a
 * time.
 */
export class ProjectCommitter {
  private cache: ProjectCache | null = null;
  private queue: Promise<unknown> = Promise.resolve();
  private pendingCount = 0;

  constructor(
    private readonly project: ProjectKey,
    private readonly dynamo: DynamoClient,
    private readonly blobs: DynamodbBlobs,
    private readonly permitShares: PermitShares,
    private readonly clock: SteadyClock,
    private readonly contentionLimit: ContentionLimit,
  ) {}

  get isIdle(): boolean {
    return this.pendingCount === 0;
  }

  commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    this.pendingCount += 1;
    const turn = this.queue
      .then(() => this.run(transactions))
      .finally(() => {
        this.pendingCount -= 1;
      });
    this.queue = turn.catch(() => undefined);
    return turn;
  }

  private async run(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    const outcomes: CommitOutcome[] = [];
    let isWritten = false;
    try {
      const cache = await this.begin();
      const { contention_ms } = this.contentionLimit;
      let progressedMs = this.contentionLimit.monotonicMs();
      for (let round = 0; outcomes.length < transactions.length; round += 1) {
        if (this.contentionLimit.monotonicMs() - progressedMs > contention_ms) {
          throw new StoreUnavailable('Too many others change the same project at once.');
        }
        const version = cache.project.version;
        const plan = await this.commitSome(cache, transactions.slice(outcomes.length));
        if (plan === null) {
          if (cache.project.version !== version) await pause(round);
          continue;
        }
        outcomes.push(...plan.outcomes);
        isWritten ||= plan.hasWrites;
        progressedMs = this.contentionLimit.monotonicMs();
      }
      return outcomes;
    } catch (error) {
      this.cache = null;
      if (isWritten && error instanceof StoreUnavailable) throw new StoreUncertain(error.message);
      throw error;
    }
  }

  private async begin(): Promise<ProjectCache> {
    if (this.cache === null) {
      this.cache = new ProjectCache();
      await this.readProject(this.cache);
    } else {
      this.cache.begin();
    }
    return this.cache;
  }

  /**
   * Commits as many transactions as one DynamoDB transaction takes. Null: something was learnt, and they must be
   * decided again.
   */
  private async commitSome(
    cache: ProjectCache,
    transactions: readonly Transaction[],
  ): Promise<BatchPlan | null> {
    const plan = new BatchPlan(cache, Math.max(this.clock.now(), cache.project.now_ms));
    this.clock.advanceTo(plan.now_ms);
    for (const transaction of transactions) {
      const need = plan.add(transaction);
      if (need === null) continue;
      if (need.kind === 'send') break;
      await this.satisfyNeed(cache, need, plan.now_ms);
      return null;
    }
    if (plan.hasWrites) return this.send(cache, plan);
    if (cache.isFresh) return plan;
    await this.readProject(cache);
    return null;
  }

  private async satisfyNeed(
    cache: ProjectCache,
    need: Exclude<PlanNeed, { kind: 'send' }>,
    nowMs: number,
  ): Promise<void> {
    if (need.kind === 'read') return this.read(cache, need);
    const grant = await this.permitShares.reserve(this.project, need, nowMs);
    if (grant === null) return;
    cache.shares.set(need.scope, grant.share);
    if (grant.counted !== null) cache.permitCounts.set(need.scope, grant.counted);
  }

  private async read(cache: ProjectCache, need: Extract<PlanNeed, { kind: 'read' }>): Promise<void> {
    const { project, dynamo } = this;
    const { state, requests } = dynamo.tables;
    await this.readProject(cache);
    const [heads, kept, members] = await Promise.all([
      this.getInOrder(
        state,
        need.subjects.map((subject) => headKey(project, subject)),
      ),
      this.getInOrder(
        requests,
        need.requests.map((key) => requestKey(project, key)),
      ),
      this.getInOrder(
        state,
        need.members.map(({ scope, member }) => memberKey(project, scope, member)),
      ),
    ]);
    for (const [index, subject] of need.subjects.entries()) {
      const item = heads[index];
      cache.heads.set(subject, item == null ? null : await headFromItem(item, this.blobs, project.tenant_id));
    }
    for (const [index, key] of need.requests.entries()) {
      const item = kept[index];
      cache.requests.set(key, item == null ? null : requestFromItem(item));
    }
    for (const [index, { scope, member }] of need.members.entries()) {
      const item = members[index];
      cache.members.set(memberName(scope, member), item == null ? null : untilFromItem(item));
    }
  }

  /** Items in the order of their keys; null for a missing item. */
  private async getInOrder(table: string, keys: readonly DynamoKey[]): Promise<(DynamoItem | null)[]> {
    const named = new Map(keys.map((key) => [nameOf(key), key]));
    const items = await this.dynamo.getAll(table, [...named.values()]);
    const itemByName = new Map(items.map((item) => [nameOf(item), item]));
    return keys.map((key) => itemByName.get(nameOf(key)) ?? null);
  }

  private async readProject(cache: ProjectCache): Promise<void> {
    const item = await this.dynamo.get(this.dynamo.tables.state, rowKey(this.project));
    cache.setProject(item === undefined ? EMPTY_PROJECT : projectFromItem(item));
  }

  private async send(cache: ProjectCache, plan: BatchPlan): Promise<BatchPlan | null> {
    const attemptId = randomUUID();
    const { tables } = this.dynamo;
    const writer = new BatchWriter(this.project, cache, plan, attemptId, tables, this.blobs);
    const written = writer.write();
    await this.prepare(written);
    const result = await this.dynamo.transact({
      id: attemptId,
      writes: written.writes.map(({ item }) => item),
      mark: { index: MARK_INDEX, table: tables.requests, item: writer.markItem() },
      not_after_ms: plan.not_after_ms,
    });
    cache.permitCounts.clear();
    if (result.kind === 'done') {
      applyToCache(plan, cache);
      return plan;
    }
    if (result.kind === 'cancelled') await learnFromFailures(written.writes, result.reasons);
    return null;
  }

  /** Writes what the items of the transaction refer to before the items themselves. */
  private async prepare({ externalTexts: beside, indexEntries: hints }: BatchWrites): Promise<void> {
    for (const text of beside) {
      if (text.external !== null) {
        await this.blobs.put(this.project.tenant_id, text.external.sha256, text.external.bytes);
      }
    }
    await this.dynamo.putAll(this.dynamo.tables.events, hints);
  }
}

/** The project's row is the first write: learning it clears stale entries before the other writes add theirs. */
async function learnFromFailures(
  writes: readonly ConditionalWrite[],
  reasons: readonly { Code?: string; Item?: Record<string, unknown> }[],
): Promise<void> {
  for (const [index, { Code, Item: item }] of reasons.entries()) {
    if (Code === 'ConditionalCheckFailed')
      await writes[index]?.onConditionFailed?.(item as DynamoItem | undefined);
  }
}

/** Records the result of a transaction that happened. */
function applyToCache(plan: BatchPlan, cache: ProjectCache): void {
  cache.setOwnProject(plan.project);
  for (const [subject, { head, isSwapped: swapped }] of plan.heads) {
    if (swapped) cache.heads.set(subject, head as NonNullable<typeof head>);
  }
  for (const [key, request] of plan.requests) cache.requests.set(key, request);
  for (const eventId of plan.looseEvents) cache.looseEvents.add(eventId);
  for (const [name, { until_ms }] of plan.members) cache.members.set(name, until_ms);
  for (const [scope, { delta }] of plan.shares) {
    const share = cache.shares.get(scope);
    if (share == null) continue;
    const { registered, spare, room_max } = share;
    cache.shares.set(scope, { registered: registered + delta, spare: spare - delta, room_max });
  }
}

const nameOf = ({ pk, sk }: DynamoItem): string => JSON.stringify([pk?.S, sk?.S]);
