import { randomBytes } from 'node:crypto';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { type ProcessClock, SteadyClock, systemClock } from '../clock.js';
import { pageOfProjects } from '../project-order.js';
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
  type Transaction,
  withRaisedIncarnation,
} from '../store.js';
import { StoreImage } from './store-image.js';

export interface MemoryStoreOptions {
  readonly clock?: ProcessClock;
  /** For reproducible runs; the secret is random by default. */
  readonly meta?: StoreMeta;
}

export function openMemoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const meta = options.meta ?? { incarnation: 1, secret: randomBytes(32).toString('hex') };
  return new MemoryStore(options.clock ?? systemClock, meta);
}

/**
 * The reference store: the others must be indistinguishable from it. Each commit runs to completion without yielding,
 * so any number of coordinators can share one object.
 */
export class MemoryStore implements Store {
  readonly capabilities: StoreCapabilities = {
    name: 'memory',
    clock: 'process',
    single_writer: false,
    commits_at_once: 2,
    durable: false,
    note: 'All data is lost when the process ends.',
  };
  private readonly image = new StoreImage();
  private readonly clock: SteadyClock;

  constructor(
    clock: ProcessClock,
    private storeMeta: StoreMeta,
  ) {
    this.clock = new SteadyClock(clock);
  }

  async commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    return transactions.map((transaction) => this.image.apply(transaction, this.clock.now()).outcome);
  }

  /** Copies another log, from its first event on, without its requests and permits. */
  restore(events: Iterable<EventEnvelope>): void {
    const nowMs = this.clock.now();
    for (const event of events) this.image.restore(event, [event], {}, nowMs);
  }

  async heads(projectKey: ProjectKey, subjects: readonly string[]): Promise<(StoredHead | null)[]> {
    return this.image.heads(projectKey, subjects);
  }

  async scanHeads(
    projectKey: ProjectKey,
    page: { after: string | null; limit: number },
  ): Promise<StoredHead[]> {
    return this.image.scanHeads(projectKey, page);
  }

  async events(projectKey: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    return this.image.events(projectKey, query);
  }

  async redact(projectKey: ProjectKey, events: readonly EventEnvelope[]): Promise<void> {
    this.image.redact(projectKey, events);
  }

  async project(projectKey: ProjectKey): Promise<ProjectRow | null> {
    return this.image.project(projectKey);
  }

  async projects(tenantId: string): Promise<string[]> {
    return this.image.projects(tenantId);
  }

  async tenantIds(): Promise<string[]> {
    return this.image.tenantIds();
  }

  async countPermits(tenantId: string, scope: string): Promise<number> {
    return this.image.countPermits(tenantId, scope, this.clock.now());
  }

  async projectsWithPermits({ after, limit }: ProjectsWithPermitsPage): Promise<ProjectKey[]> {
    return pageOfProjects(this.image.projectsWithPermits(), after, limit);
  }

  async now(): Promise<number> {
    return this.clock.now();
  }

  async meta(): Promise<StoreMeta> {
    return this.storeMeta;
  }

  async raiseIncarnation(incarnation: number): Promise<StoreMeta> {
    this.storeMeta = withRaisedIncarnation(this.storeMeta, incarnation);
    return this.storeMeta;
  }

  /** Does nothing: there is nothing to write or release, and others may share this object. */
  async close(): Promise<void> {}
}
