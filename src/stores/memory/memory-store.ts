import { randomBytes } from 'node:crypto';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { type ProcessClock, SteadyClock, systemClock } from '../clock.js';
import { TenantPermits } from '../permits.js';
import { pageOfProjects } from '../project-order.js';
import {
  type CommitOutcome,
  type EventQuery,
  type HeldProjectsPage,
  type ProjectKey,
  type ProjectRow,
  raised,
  type Store,
  type StoreCapabilities,
  type StoredHead,
  type StoreMeta,
  type Transaction,
} from '../store.js';
import { MemoryProject } from './memory-project.js';

export interface MemoryStoreOptions {
  readonly clock?: ProcessClock;
  /** For reproducible runs; the secret is random by default. */
  readonly meta?: StoreMeta;
}

interface MemoryTenant {
  readonly permits: TenantPermits;
  readonly projects: Map<string, MemoryProject>;
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
  private readonly tenants = new Map<string, MemoryTenant>();
  private readonly clock: SteadyClock;

  constructor(
    clock: ProcessClock,
    private storeMeta: StoreMeta,
  ) {
    this.clock = new SteadyClock(clock);
  }

  async commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    return transactions.map((transaction) =>
      this.writeTo(transaction, (project) => project.commit(transaction, this.clock.now())),
    );
  }

  /** Copies another log, from its first event on, without its requests and permits. */
  restore(events: Iterable<EventEnvelope>): void {
    const nowMs = this.clock.now();
    for (const event of events) this.writeTo(event, (project) => project.restore(event, nowMs));
  }

  async heads(projectKey: ProjectKey, subjects: readonly string[]): Promise<(StoredHead | null)[]> {
    const ledger = this.findProject(projectKey)?.ledger;
    return subjects.map((subject) => ledger?.head(subject) ?? null);
  }

  async scanHeads(
    projectKey: ProjectKey,
    page: { after: string | null; limit: number },
  ): Promise<StoredHead[]> {
    return this.findProject(projectKey)?.ledger.headsPage(page.after, page.limit) ?? [];
  }

  async events(projectKey: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    return this.findProject(projectKey)?.events(query) ?? [];
  }

  async redact(projectKey: ProjectKey, events: readonly EventEnvelope[]): Promise<void> {
    this.findProject(projectKey)?.redact(events);
  }

  async project(projectKey: ProjectKey): Promise<ProjectRow | null> {
    const ledger = this.findProject(projectKey)?.ledger;
    return ledger === undefined ? null : { position: ledger.position, rules_seq: ledger.rules_seq };
  }

  async projects(tenantId: string): Promise<string[]> {
    return [...(this.tenants.get(tenantId)?.projects.keys() ?? [])].sort();
  }

  async countPermits(tenantId: string, scope: string): Promise<number> {
    return this.tenants.get(tenantId)?.permits.count(scope, this.clock.now()) ?? 0;
  }

  async heldProjects({ after, limit }: HeldProjectsPage): Promise<ProjectKey[]> {
    const held = [...this.tenants].flatMap(([tenant_id, { permits, projects }]) =>
      [...projects.keys()]
        .filter((project_id) => permits.isHeld(project_id))
        .map((project_id) => ({ tenant_id, project_id })),
    );
    return pageOfProjects(held, after, limit);
  }

  async now(): Promise<number> {
    return this.clock.now();
  }

  async meta(): Promise<StoreMeta> {
    return this.storeMeta;
  }

  async raiseIncarnation(incarnation: number): Promise<StoreMeta> {
    this.storeMeta = raised(this.storeMeta, incarnation);
    return this.storeMeta;
  }

  /** Nothing to write or release, and others may share this object. */
  async close(): Promise<void> {}

  private findProject({ tenant_id, project_id }: ProjectKey): MemoryProject | undefined {
    return this.tenants.get(tenant_id)?.projects.get(project_id);
  }

  /** A tenant or project is created by the first transaction that writes something, not by a refused one. */
  private writeTo<T>({ tenant_id, project_id }: ProjectKey, write: (project: MemoryProject) => T): T {
    const { permits, projects } = this.tenants.get(tenant_id) ?? {
      permits: new TenantPermits(),
      projects: new Map<string, MemoryProject>(),
    };
    const project = projects.get(project_id) ?? new MemoryProject({ tenant_id, project_id }, permits);
    const result = write(project);
    if (project.ledger.isWritten) {
      projects.set(project_id, project);
      this.tenants.set(tenant_id, { permits, projects });
    }
    return result;
  }
}
