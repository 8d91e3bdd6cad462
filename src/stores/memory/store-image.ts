import type { EventEnvelope } from '../../core/events/envelope.js';
import type { ApplyResult, TransactionFields } from '../ledger.js';
import { TenantPermits } from '../permits.js';
import type { EventQuery, ProjectKey, ProjectRow, StoredHead, Transaction } from '../store.js';
import { MemoryProject } from './memory-project.js';

interface MemoryTenant {
  readonly permits: TenantPermits;
  readonly projects: Map<string, MemoryProject>;
}

/** The content of a store in memory. Decides transactions, applies recorded ones, and serves every query. */
export class StoreImage {
  private readonly tenants = new Map<string, MemoryTenant>();

  /** Decides a transaction. The image changes only if the outcome is `committed`. */
  apply(transaction: Transaction, nowMs: number): ApplyResult {
    return this.writeTo(transaction, (project) => project.apply(transaction, nowMs));
  }

  /** What `apply` would return. The image does not change: `restore` applies the result once it is written. */
  plan(transaction: Transaction, nowMs: number): ApplyResult {
    const { ledger } = this.locate(transaction).project;
    const refusal = ledger.refusalOf(transaction, nowMs);
    if (refusal === null) return ledger.plan(transaction, nowMs);
    return { outcome: refusal, events: [], first_position: ledger.position + 1, fields: null };
  }

  /** Applies a transaction that a log recorded, unchanged. */
  restore(
    projectKey: ProjectKey,
    events: readonly EventEnvelope[],
    fields: TransactionFields,
    nowMs: number,
  ): void {
    this.writeTo(projectKey, (project) => project.restore(events, fields, nowMs));
  }

  /** Returns the project, and keeps it from now on, even if nothing was written to it yet. */
  open(projectKey: ProjectKey): MemoryProject {
    const { tenant, project } = this.locate(projectKey);
    this.keep(projectKey, tenant, project);
    return project;
  }

  heads(projectKey: ProjectKey, subjects: readonly string[]): (StoredHead | null)[] {
    const ledger = this.find(projectKey)?.ledger;
    return subjects.map((subject) => ledger?.head(subject) ?? null);
  }

  scanHeads(projectKey: ProjectKey, page: { after: string | null; limit: number }): StoredHead[] {
    return this.find(projectKey)?.ledger.headsPage(page.after, page.limit) ?? [];
  }

  events(projectKey: ProjectKey, query: EventQuery): EventEnvelope[] {
    return this.find(projectKey)?.events(query) ?? [];
  }

  redact(projectKey: ProjectKey, events: readonly EventEnvelope[]): void {
    this.find(projectKey)?.redact(events);
  }

  project(projectKey: ProjectKey): ProjectRow | null {
    const ledger = this.find(projectKey)?.ledger;
    return ledger?.isWritten === true ? { position: ledger.position, rules_seq: ledger.rules_seq } : null;
  }

  projects(tenantId: string): string[] {
    const projects = [...(this.tenants.get(tenantId)?.projects ?? [])];
    return projects
      .filter(([, { ledger }]) => ledger.isWritten)
      .map(([name]) => name)
      .sort();
  }

  tenantIds(): string[] {
    return [...this.tenants.keys()].filter((tenantId) => this.projects(tenantId).length > 0).sort();
  }

  countPermits(tenantId: string, scope: string, nowMs: number): number {
    return this.tenants.get(tenantId)?.permits.count(scope, nowMs) ?? 0;
  }

  /** The projects with a permit on a head that was not released. */
  projectsWithPermits(): ProjectKey[] {
    return [...this.tenants].flatMap(([tenant_id, { permits, projects }]) =>
      [...projects.keys()]
        .filter((project_id) => permits.isHeld(project_id))
        .map((project_id) => ({ tenant_id, project_id })),
    );
  }

  private find({ tenant_id, project_id }: ProjectKey): MemoryProject | undefined {
    return this.tenants.get(tenant_id)?.projects.get(project_id);
  }

  /** A tenant or project is created by the first transaction that writes something, not by a refused one. */
  private writeTo<T>(projectKey: ProjectKey, write: (project: MemoryProject) => T): T {
    const { tenant, project } = this.locate(projectKey);
    const result = write(project);
    if (project.ledger.isWritten) this.keep(projectKey, tenant, project);
    return result;
  }

  /** The tenant and the project. New ones are not kept yet. */
  private locate({ tenant_id, project_id }: ProjectKey): { tenant: MemoryTenant; project: MemoryProject } {
    const tenant = this.tenants.get(tenant_id) ?? {
      permits: new TenantPermits(),
      projects: new Map<string, MemoryProject>(),
    };
    const project =
      tenant.projects.get(project_id) ?? new MemoryProject({ tenant_id, project_id }, tenant.permits);
    return { tenant, project };
  }

  private keep({ tenant_id, project_id }: ProjectKey, tenant: MemoryTenant, project: MemoryProject): void {
    tenant.projects.set(project_id, project);
    this.tenants.set(tenant_id, tenant);
  }
}
