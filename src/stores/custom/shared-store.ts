import { createHash } from 'node:crypto';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { Blobs } from '../blobs.js';
import { SteadyClock, systemClock } from '../clock.js';
import { pageOfProjects } from '../project-order.js';
import {
  type CommitOutcome,
  type EventQuery,
  type ProjectKey,
  type ProjectRow,
  type ProjectsWithPermitsPage,
  type Store,
  StoreBroken,
  type StoreCapabilities,
  type StoredHead,
  type StoreMeta,
  StoreRefused,
  StoreUnavailable,
  StoreUncertain,
  type Transaction,
  withRaisedIncarnation,
} from '../store.js';
import type { CustomStoreOptions } from './log-store.js';
import { metaOf, newMeta, recordFromText, textOfRecord } from './records.js';
import type { SharedRecords } from './shared-records.js';
import { TenantList } from './tenant-list.js';
import { TenantReplica } from './tenant-replica.js';

/** The log with the metadata of the store; the last record counts. */
const META_LOG = 'store';
const META_TRIES_MAX = 20;

/**
 * Makes a store for several coordinators from a storage with compare-and-swap. Each tenant has a log, and
 * each coordinator keeps the tenants that it serves in memory.
 */
export async function openSharedStore(
  records: SharedRecords,
  options: CustomStoreOptions,
): Promise<CustomSharedStore> {
  try {
    return new CustomSharedStore(records, options, await raiseStoredIncarnation(records, 1));
  } catch (error) {
    await records.close();
    throw error;
  }
}

export class CustomSharedStore implements Store {
  readonly capabilities: StoreCapabilities;
  readonly blobs: Blobs | undefined;
  private readonly replicas = new Map<string, TenantReplica>();
  private readonly tenants: TenantList;
  private readonly clock: SteadyClock;
  private closing: Promise<void> | null = null;

  constructor(
    private readonly records: SharedRecords,
    { name, blobs, clock = systemClock }: CustomStoreOptions,
    private storeMeta: StoreMeta,
  ) {
    this.blobs = blobs;
    this.clock = new SteadyClock(clock);
    this.tenants = new TenantList(records);
    this.capabilities = {
      name,
      clock: 'coordinator',
      single_writer: false,
      commits_at_once: 1,
      durable: true,
      note: "Time is the coordinator's clock: synchronise the clocks and set a margin for takeovers.",
    };
  }

  async commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    const outcomes: CommitOutcome[] = [];
    for (const transaction of transactions) {
      const commit = this.commitOne(transaction);
      // An earlier transaction may be committed; then `StoreUnavailable` would wrongly say that nothing happened.
      outcomes.push(await (outcomes.length === 0 ? commit : commit.catch(throwUncertain)));
    }
    return outcomes;
  }

  private async commitOne(transaction: Transaction): Promise<CommitOutcome> {
    this.assertOpen();
    const { tenant_id, permits } = transaction;
    if (permits.some(({ on_head }) => on_head === true)) await this.tenants.add(tenant_id);
    return this.withTenant(tenant_id, (replica) => replica.commit(transaction));
  }

  heads(projectKey: ProjectKey, subjects: readonly string[]): Promise<(StoredHead | null)[]> {
    return this.withTenant(projectKey.tenant_id, (replica) =>
      replica.read((image) => image.heads(projectKey, subjects)),
    );
  }

  scanHeads(projectKey: ProjectKey, page: { after: string | null; limit: number }): Promise<StoredHead[]> {
    return this.withTenant(projectKey.tenant_id, (replica) =>
      replica.read((image) => image.scanHeads(projectKey, page)),
    );
  }

  events(projectKey: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    return this.withTenant(projectKey.tenant_id, (replica) =>
      replica.read((image) => image.events(projectKey, query)),
    );
  }

  async redact(projectKey: ProjectKey, events: readonly EventEnvelope[]): Promise<void> {
    if (events.length === 0) return;
    await this.withTenant(projectKey.tenant_id, (replica) => replica.redact(projectKey, events));
  }

  project(projectKey: ProjectKey): Promise<ProjectRow | null> {
    return this.withTenant(projectKey.tenant_id, (replica) =>
      replica.read((image) => image.project(projectKey)),
    );
  }

  projects(tenantId: string): Promise<string[]> {
    return this.withTenant(tenantId, (replica) => replica.read((image) => image.projects(tenantId)));
  }

  /** The tenants that have had a permit on a head: the others are not listed. */
  async tenantIds(): Promise<string[]> {
    this.assertOpen();
    return [...(await this.tenants.all())].sort();
  }

  countPermits(tenantId: string, scope: string): Promise<number> {
    return this.withTenant(tenantId, (replica) =>
      replica.read((image) => image.countPermits(tenantId, scope, this.clock.now())),
    );
  }

  async projectsWithPermits({ after, limit }: ProjectsWithPermitsPage): Promise<ProjectKey[]> {
    this.assertOpen();
    const projectKeys: ProjectKey[] = [];
    for (const tenantId of await this.tenants.all()) {
      projectKeys.push(
        ...(await this.withTenant(tenantId, (replica) =>
          replica.read((image) => image.projectsWithPermits()),
        )),
      );
    }
    return pageOfProjects(projectKeys, after, limit);
  }

  async now(): Promise<number> {
    this.assertOpen();
    return this.clock.now();
  }

  async meta(): Promise<StoreMeta> {
    this.assertOpen();
    return this.storeMeta;
  }

  async raiseIncarnation(incarnation: number): Promise<StoreMeta> {
    this.assertOpen();
    this.storeMeta = await raiseStoredIncarnation(this.records, incarnation);
    return this.storeMeta;
  }

  close(): Promise<void> {
    this.closing ??= this.records.close();
    return this.closing;
  }

  /** Runs work on a tenant's replica. Keeps no replica of a tenant without records, because a caller can name any tenant. */
  private async withTenant<T>(tenantId: string, work: (replica: TenantReplica) => Promise<T>): Promise<T> {
    this.assertOpen();
    const replica =
      this.replicas.get(tenantId) ??
      new TenantReplica(this.records, tenantId, logOfTenant(tenantId), this.clock);
    this.replicas.set(tenantId, replica);
    try {
      return await work(replica);
    } finally {
      if (replica.length === 0 && this.replicas.get(tenantId) === replica) this.replicas.delete(tenantId);
    }
  }

  private assertOpen(): void {
    if (this.closing !== null) throw new StoreBroken('The store is closed. Reopen it to continue.');
  }
}

/** The name of a tenant's log: one that `SharedRecords` allows, whatever the tenant id contains. */
const logOfTenant = (tenantId: string): string =>
  `tenant-${createHash('sha256').update(tenantId).digest('hex')}`;

/** Raises the incarnation to at least this, and returns the metadata. Creates the metadata if there is none. */
async function raiseStoredIncarnation(records: SharedRecords, incarnation: number): Promise<StoreMeta> {
  for (let tries = 0; tries < META_TRIES_MAX; tries += 1) {
    const { length, meta } = await readMeta(records);
    if (meta !== null && meta.incarnation >= incarnation) return meta;
    const raised = withRaisedIncarnation(meta ?? newMeta(), incarnation);
    if (await records.add(META_LOG, length + 1, textOfRecord({ kind: 'meta', ...raised }))) return raised;
  }
  throw new StoreUnavailable(
    `In each of ${META_TRIES_MAX} attempts, another coordinator wrote the store's metadata first. Try again in a moment.`,
  );
}

async function readMeta(records: SharedRecords): Promise<{ length: number; meta: StoreMeta | null }> {
  let meta: StoreMeta | null = null;
  for (let length = 0; ; ) {
    const texts = await records.read(META_LOG, length);
    if (texts.length === 0) return { length, meta };
    length += texts.length;
    const record = recordFromText(texts.at(-1) as string);
    if (record?.kind !== 'meta') {
      throw new StoreRefused(
        `Record ${length} of the log "${META_LOG}", which has the metadata of the store, is not valid. Restore the log from a backup.`,
      );
    }
    meta = metaOf(record);
  }
}

function throwUncertain(error: unknown): never {
  if (error instanceof StoreUnavailable) throw new StoreUncertain(error.message);
  throw error;
}
