import type { EventEnvelope } from '../../core/events/envelope.js';
import { type ProcessClock, SteadyClock, systemClock } from '../clock.js';
import { assertSchemaVersion } from '../migrator.js';
import {
  type CommitOutcome,
  type EventQuery,
  type ProjectKey,
  type ProjectRow,
  type ProjectsWithPermitsPage,
  type Store,
  type StoreCapabilities,
  type StoredHead,
  type StoreMeta,
  StoreRefused,
  StoreUnavailable,
  StoreUncertain,
  type Transaction,
  withRaisedIncarnation,
} from '../store.js';
import { ITEMS_MAX } from './batch-plan.js';
import { DynamodbBlobs } from './blobs.js';
import { type ContentionLimit, ProjectCommitter } from './commit.js';
import { DynamoClient } from './connection.js';
import { DynamodbEvents } from './events.js';
import { headFromItem } from './items.js';
import {
  headKey,
  headsPartition,
  META_KEY,
  N,
  numberOf,
  projectPartition,
  S,
  SHARDS,
  tenantPartition,
  textOf,
} from './keys.js';
import { mergeSorted } from './merge-sorted.js';
import { DynamodbMigrator } from './migrator.js';
import type { DynamodbOptions } from './options.js';
import { PermitShares } from './permits.js';
import { DynamodbProjectsWithPermits } from './projects-with-permits.js';
import { migrationSteps } from './schema.js';

export { openDynamodbMigrator } from './migrator.js';

/**
 * From this number on, projects without a commit in progress lose their cached state when another project is added. The
 * cache only saves a read.
 */
const COMMITTERS_MAX = 10_000;
const SCAN_PAGE_MIN = 4;

export async function openDynamodbStore(
  options: DynamodbOptions,
  clock: ProcessClock = systemClock,
): Promise<DynamodbStore> {
  const steadyClock = new SteadyClock(clock);
  const dynamo = await DynamoClient.connect(options, () => steadyClock.now());
  try {
    const { found } = await new DynamodbMigrator(dynamo).status();
    assertSchemaVersion(
      `The schema of the tables ${options.namespace}-*`,
      found,
      migrationSteps(dynamo.tables),
    );
    const meta = await dynamo.get(dynamo.tables.state, META_KEY);
    const storeMeta = { incarnation: numberOf(meta?.incarnation), secret: textOf(meta?.secret) };
    const { contention_ms } = options;
    const contentionLimit = { contention_ms, monotonicMs: () => clock.monotonicMs() };
    return new DynamodbStore(dynamo, steadyClock, storeMeta, contentionLimit);
  } catch (error) {
    dynamo.close();
    // A person must act on a database that is unavailable when the store is opened.
    if (!(error instanceof StoreUnavailable)) throw error;
    throw new StoreRefused(`${options.endpoint ?? `DynamoDB in ${options.region}`}: ${error.message}`);
  }
}

/** Earlier transactions of the call are committed, so `StoreUnavailable` would wrongly say that nothing happened. */
function throwUncertain(error: unknown): never {
  if (error instanceof StoreUnavailable) throw new StoreUncertain(error.message);
  throw error;
}

export class DynamodbStore implements Store {
  readonly capabilities: StoreCapabilities = {
    name: 'dynamodb',
    clock: 'coordinator',
    single_writer: false,
    commits_at_once: 1,
    durable: true,
    // Each loose event takes an item, and so does each page of events.
    transaction_size_max: { events: ITEMS_MAX / 2, bytes: 2_500_000 },
    note:
      'Each project commits one transaction of about thirty commands at a time: throughput scales with projects. ' +
      "Time is the coordinator's clock, read before the transaction is sent: synchronise the clocks and set a " +
      'margin for takeovers.',
  };
  readonly blobs: DynamodbBlobs;
  private readonly permitShares: PermitShares;
  private readonly permitProjectFinder: DynamodbProjectsWithPermits;
  private readonly committers = new Map<string, ProjectCommitter>();

  constructor(
    private readonly dynamo: DynamoClient,
    private readonly clock: SteadyClock,
    private storeMeta: StoreMeta,
    private readonly contentionLimit: ContentionLimit,
  ) {
    this.blobs = new DynamodbBlobs(dynamo);
    this.permitProjectFinder = new DynamodbProjectsWithPermits(dynamo);
    this.permitShares = new PermitShares(dynamo, this.permitProjectFinder);
  }

  /** Consecutive transactions of one project are committed together; the overall order is kept. */
  async commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    await this.permitProjectFinder.addScopes(transactions);
    const outcomes: CommitOutcome[] = [];
    while (outcomes.length < transactions.length) {
      const first = transactions[outcomes.length] as Transaction;
      const remaining = transactions.slice(outcomes.length);
      const end = remaining.findIndex(
        (transaction) => projectPartition(transaction) !== projectPartition(first),
      );
      const consecutive = end === -1 ? remaining : remaining.slice(0, end);
      const work = this.committerOf(first).commit(consecutive);
      outcomes.push(...(await (outcomes.length === 0 ? work : work.catch(throwUncertain))));
    }
    return outcomes;
  }

  async heads(projectKey: ProjectKey, subjects: readonly string[]): Promise<(StoredHead | null)[]> {
    const keys = [...new Set(subjects)].map((subject) => headKey(projectKey, subject));
    const items = await this.dynamo.getAll(this.dynamo.tables.state, keys);
    const heads = new Map<string, StoredHead>();
    for (const item of items)
      heads.set(textOf(item.sk), await headFromItem(item, this.blobs, projectKey.tenant_id));
    return subjects.map((subject) => heads.get(subject) ?? null);
  }

  async scanHeads(
    projectKey: ProjectKey,
    page: { after: string | null; limit: number },
  ): Promise<StoredHead[]> {
    const size = Math.max(SCAN_PAGE_MIN, Math.ceil((page.limit * 2) / SHARDS.length));
    const shards = SHARDS.map((shard) =>
      this.dynamo.pages({
        TableName: this.dynamo.tables.state,
        KeyConditionExpression: page.after === null ? 'pk = :pk' : 'pk = :pk AND sk > :after',
        ExpressionAttributeValues: {
          ':pk': S(headsPartition(projectKey, shard)),
          ...(page.after === null ? {} : { ':after': S(page.after) }),
        },
        Limit: size,
      }),
    );
    const heads: StoredHead[] = [];
    for await (const item of mergeSorted(shards, (a, b) => textOf(a.sk) < textOf(b.sk))) {
      if (heads.length === page.limit) break;
      heads.push(await headFromItem(item, this.blobs, projectKey.tenant_id));
    }
    return heads;
  }

  events(projectKey: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    return this.eventsOf(projectKey).events(query);
  }

  redact(projectKey: ProjectKey, events: readonly EventEnvelope[]): Promise<void> {
    return this.eventsOf(projectKey).redact(events);
  }

  async project(projectKey: ProjectKey): Promise<ProjectRow | null> {
    const state = await this.eventsOf(projectKey).state();
    return state === null ? null : { position: state.position, rules_seq: state.rules_seq };
  }

  async projects(tenantId: string): Promise<string[]> {
    const items = await this.dynamo.partition(this.dynamo.tables.state, tenantPartition(tenantId));
    return items.map((item) => textOf(item.project_id)).sort();
  }

  countPermits(tenantId: string, scope: string): Promise<number> {
    return this.permitShares.countPermits(tenantId, scope, this.clock.now());
  }

  /** The tenants that have had a permit on a head: no other item lists tenants, and a scan would read everything. */
  tenantIds(): Promise<string[]> {
    return this.permitProjectFinder.tenantIds();
  }

  projectsWithPermits(page: ProjectsWithPermitsPage): Promise<ProjectKey[]> {
    return this.permitProjectFinder.page(page, this.clock.now());
  }

  async now(): Promise<number> {
    return this.clock.now();
  }

  async meta(): Promise<StoreMeta> {
    return this.storeMeta;
  }

  async raiseIncarnation(incarnation: number): Promise<StoreMeta> {
    await this.dynamo.updateIf({
      TableName: this.dynamo.tables.state,
      Key: META_KEY,
      UpdateExpression: 'SET incarnation = :incarnation',
      ConditionExpression: 'incarnation < :incarnation',
      ExpressionAttributeValues: { ':incarnation': N(incarnation) },
    });
    this.storeMeta = withRaisedIncarnation(this.storeMeta, incarnation);
    return this.storeMeta;
  }

  async close(): Promise<void> {
    this.dynamo.close();
  }

  private eventsOf(projectKey: ProjectKey): DynamodbEvents {
    return new DynamodbEvents(this.dynamo, this.blobs, projectKey);
  }

  private committerOf(projectKey: ProjectKey): ProjectCommitter {
    const name = projectPartition(projectKey);
    const existing = this.committers.get(name);
    if (existing !== undefined) return existing;
    if (this.committers.size >= COMMITTERS_MAX) this.evictIdle();
    const { tenant_id, project_id } = projectKey;
    const { dynamo, blobs, permitShares, clock, contentionLimit } = this;
    const ownKey = { tenant_id, project_id };
    const created = new ProjectCommitter(ownKey, dynamo, blobs, permitShares, clock, contentionLimit);
    this.committers.set(name, created);
    return created;
  }

  private evictIdle(): void {
    for (const [name, committer] of this.committers) if (committer.isIdle) this.committers.delete(name);
  }
}
