import { randomUUID } from 'node:crypto';
import type { SteadyClock } from '../clock.js';
import {
  type CommitOutcome,
  type ProjectKey,
  StoreUnavailable,
  StoreUncertain,
  type Transaction,
} from '../store.js';
import { BackgroundIndexing } from './background-indexing.js';
import { BatchWriteBuilder } from './batch.js';
import { BatchPlan } from './batch-plan.js';
import type { DynamodbBlobs } from './blobs.js';
import { type DynamoClient, pause } from './connection.js';
import { DynamodbEvents } from './events.js';
import { headFromItem, projectFromItem, requestFromItem, shareFromItem, untilFromItem } from './items.js';
import {
  type DynamoItem,
  type DynamoKey,
  headKey,
  looseEventKey,
  memberKey,
  requestKey,
  rowKey,
  shareKey,
} from './keys.js';
import type { PermitShares } from './permits.js';
import { memberName, ProjectCache } from './project-cache.js';

/** How long a commit may lose to concurrent commits, and the clock that measures it. */
export interface ContentionLimit {
  readonly contention_ms: number;
  monotonicMs(): number;
}

/** An item to be read, and how it updates the cache. */
interface Lookup {
  readonly table: string;
  readonly key: DynamoKey;
  readonly updateCache: (item: DynamoItem | undefined) => unknown;
}

/**
 * Commits the transactions of one project, one call at a time: the project's row admits one DynamoDB transaction at a
 * time.
 */
export class ProjectCommitter {
  private cache: ProjectCache | null = null;
  private queue: Promise<unknown> = Promise.resolve();
  private pendingCount = 0;
  private readonly indexing: BackgroundIndexing;

  constructor(
    private readonly projectKey: ProjectKey,
    private readonly dynamo: DynamoClient,
    private readonly blobs: DynamodbBlobs,
    private readonly permitShares: PermitShares,
    private readonly clock: SteadyClock,
    private readonly contentionLimit: ContentionLimit,
  ) {
    this.indexing = new BackgroundIndexing(new DynamodbEvents(dynamo, blobs, projectKey));
  }

  get isIdle(): boolean {
    return this.pendingCount === 0;
  }

  commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    this.pendingCount += 1;
    const turn = this.queue
      .then(() => this.decideAndCommit(transactions))
      .finally(() => {
        this.pendingCount -= 1;
      });
    this.queue = turn.catch(() => undefined);
    return turn;
  }

  private async decideAndCommit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    const outcomes: CommitOutcome[] = [];
    let isWritten = false;
    try {
      const cache = this.cache ?? new ProjectCache();
      this.cache = cache;
      cache.begin();
      if (cache.project.row_version === 0) await this.read(cache, transactions);
      const { contention_ms } = this.contentionLimit;
      let lastProgressMs = this.contentionLimit.monotonicMs();
      for (let round = 0; outcomes.length < transactions.length; round += 1) {
        if (this.contentionLimit.monotonicMs() - lastProgressMs > contention_ms) {
          throw new StoreUnavailable('Too many concurrent changes to this project. Try again.');
        }
        const { row_version } = cache.project;
        const plan = await this.commitSome(cache, transactions.slice(outcomes.length));
        if (plan === null) {
          if (cache.project.row_version !== row_version) await pause(round);
          continue;
        }
        outcomes.push(...plan.outcomes);
        isWritten ||= plan.hasWrites;
        lastProgressMs = this.contentionLimit.monotonicMs();
      }
      return outcomes;
    } catch (error) {
      this.cache = null;
      if (isWritten && error instanceof StoreUnavailable) throw new StoreUncertain(error.message);
      throw error;
    }
  }

  /**
   * Commits as many transactions as fit into one DynamoDB transaction. Null: the cache was updated, and the transactions
   * must be decided again.
   */
  private async commitSome(
    cache: ProjectCache,
    transactions: readonly Transaction[],
  ): Promise<BatchPlan | null> {
    const nowMs = Math.max(this.clock.now(), cache.project.now_ms);
    const plan = new BatchPlan(cache, nowMs, this.indexing.indexedBuckets);
    this.clock.advanceTo(plan.now_ms);
    for (const transaction of transactions) {
      const need = plan.add(transaction);
      if (need?.kind === 'send') break;
      if (need?.kind === 'read') return this.read(cache, transactions);
      if (need?.kind !== 'share') continue;
      const grant = await this.permitShares.reserve(this.projectKey, need, plan.now_ms);
      if (grant !== null) cache.shares.set(need.scope, grant.share);
      if (grant?.free_permits) cache.permitCounts.set(need.scope, grant.free_permits);
      return null;
    }
    const isDone = plan.hasWrites ? await this.send(cache, plan) : cache.isComplete;
    return isDone ? plan : this.read(cache, transactions);
  }

  /**
   * Reads everything that the transactions depend on. The project's row comes first: each later commit to the project
   * increments the row's version, so a commit based on what was read before that later commit fails.
   */
  private async read(cache: ProjectCache, transactions: readonly Transaction[]): Promise<null> {
    const { state, requests } = this.dynamo.tables;
    cache.setProject(projectFromItem(await this.dynamo.get(state, rowKey(this.projectKey))));
    const lookups = transactions.flatMap((transaction) => this.lookups(cache, transaction));
    for (const table of [state, requests]) {
      const tableLookups = lookups.filter((lookup) => lookup.table === table);
      const keys = new Map(tableLookups.map(({ key }) => [keyTextOf(key), key]));
      const items = await this.dynamo.getAll(table, [...keys.values()]);
      const itemByName = new Map(items.map((item) => [keyTextOf(item), item]));
      for (const { key, updateCache } of tableLookups) await updateCache(itemByName.get(keyTextOf(key)));
    }
    cache.isComplete = true;
    return null;
  }

  private lookups(cache: ProjectCache, transaction: Transaction): Lookup[] {
    const { projectKey, blobs } = this;
    const { state, requests } = this.dynamo.tables;
    const newLookup = (table: string, key: DynamoKey, updateCache: Lookup['updateCache']): Lookup => ({
      table,
      key,
      updateCache,
    });
    return [
      ...[...transaction.swaps, ...transaction.checks].map(({ subject }) =>
        newLookup(state, headKey(projectKey, subject), async (item) =>
          cache.heads.set(subject, item ? await headFromItem(item, blobs, projectKey.tenant_id) : null),
        ),
      ),
      ...transaction.requests.map(({ key }) =>
        newLookup(requests, requestKey(projectKey, key), (item) =>
          cache.requests.set(key, item ? requestFromItem(item) : null),
        ),
      ),
      ...transaction.loose_events.map(({ event_id }) =>
        newLookup(
          state,
          looseEventKey(projectKey, event_id),
          (item) => item && cache.looseEvents.add(event_id),
        ),
      ),
      ...transaction.permits.map(({ scope, member }) =>
        newLookup(state, memberKey(projectKey, scope, member), (item) =>
          cache.members.set(memberName(scope, member), item ? untilFromItem(item) : null),
        ),
      ),
      ...scopesOf(transaction).map((scope) =>
        newLookup(state, shareKey(projectKey, scope), (item) =>
          cache.shares.set(scope, item ? shareFromItem(item) : null),
        ),
      ),
    ];
  }

  /** Sends a batch after the texts that its items refer to. Returns whether the transaction happened. */
  private async send(cache: ProjectCache, plan: BatchPlan): Promise<boolean> {
    const attemptId = randomUUID();
    const { tables } = this.dynamo;
    const builder = new BatchWriteBuilder(this.projectKey, cache.project, plan, attemptId, tables);
    for (const { sha256, bytes } of builder.externalTexts) {
      await this.blobs.put(this.projectKey.tenant_id, sha256, bytes);
    }
    const hasHappened = await this.dynamo.transact({
      id: attemptId,
      writes: builder.writes,
      mark: builder.mark,
      voidingPut: builder.voidingPut,
      not_after_ms: plan.not_after_ms,
    });
    cache.permitCounts.clear();
    if (hasHappened) {
      applyToCache(plan, cache);
      this.indexing.start(cache.project);
    }
    return hasHappened;
  }
}

/** Updates the cache after a transaction was committed. */
function applyToCache(plan: BatchPlan, cache: ProjectCache): void {
  cache.project = plan.project;
  for (const [subject, { seq, head }] of plan.heads) {
    cache.seqs.set(subject, seq);
    if (head !== null) cache.heads.set(subject, head);
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

/** The scopes in which the transaction may take permits. */
const scopesOf = ({ permit_limits, permits }: Transaction): string[] => {
  const taken = permits.filter(({ until_ms }) => until_ms !== null);
  return [...new Set([...permit_limits, ...taken].map(({ scope }) => scope))];
};

const keyTextOf = ({ pk, sk }: DynamoItem): string => JSON.stringify([pk?.S, sk?.S]);
