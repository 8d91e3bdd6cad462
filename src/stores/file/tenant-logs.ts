import { TenantPermits } from '../permits.js';
import { StoreUnavailable } from '../store.js';
import type { IdleProjects } from './idle-projects.js';
import { idOfFolder, type StoreLayout } from './layout.js';
import { type LogOptions, ProjectLog } from './project-log.js';

export type TenantLogsOptions = Omit<LogOptions, 'root' | 'folder' | 'key' | 'permits' | 'reloads'> & {
  readonly layout: StoreLayout;
};

/**
 * A tenant's logs. Those with permits are opened together: the permits of a scope are known only when every such log is
 * read. The logs of idle projects, which have none, are opened when they are used.
 */
export class TenantLogs {
  readonly permits = new TenantPermits();
  readonly reloads = { count: 0 };
  readonly logs = new Map<string, ProjectLog>();
  /** The idle projects whose logs are not open. */
  private readonly idleProjects = new Set<string>();
  private readonly logPromises = new Map<string, Promise<ProjectLog>>();

  private constructor(
    private readonly tenantId: string,
    private readonly options: TenantLogsOptions,
  ) {}

  static async open(
    tenantId: string,
    options: TenantLogsOptions,
    idle: IdleProjects | null,
  ): Promise<TenantLogs> {
    const tenant = new TenantLogs(tenantId, options);
    try {
      const { disk, layout } = options;
      const home = layout.homeProjectOf(tenantId);
      if (home !== null) await tenant.openLog(home);
      for (const name of await disk.list(layout.tenantFolder(tenantId))) {
        const projectId = idOfFolder(name);
        if (projectId === null) continue;
        const isIdle = await idle?.isIdle({ tenant_id: tenantId, project_id: projectId });
        if (isIdle === true) tenant.idleProjects.add(projectId);
        else await tenant.openLog(projectId);
      }
    } catch (error) {
      await tenant.close();
      throw error;
    }
    return tenant;
  }

  /** The log of a project, created if needed. */
  openLog(projectId: string): Promise<ProjectLog> {
    const existing = this.logPromises.get(projectId);
    if (existing !== undefined) return existing;
    const opening = this.readLog(projectId);
    this.logPromises.set(projectId, opening);
    opening.catch(() => this.logPromises.delete(projectId));
    return opening;
  }

  isClosedAndIdle(projectId: string): boolean {
    return this.idleProjects.has(projectId);
  }

  /** The open projects with a permit on a head that was not released. */
  projectsWithPermits(): string[] {
    return [...this.logs.keys()].filter((projectId) => this.permits.isHeld(projectId));
  }

  /** Records in `idle` which open projects are idle at this time, and how far their logs have grown. */
  recordIdle(idle: IdleProjects, nowMs: number): void {
    for (const [project_id, log] of this.logs) {
      const isIdle = log.isWritten && this.permits.isIdle(project_id, nowMs);
      idle.set({ tenant_id: this.tenantId, project_id }, isIdle ? log.extent : null);
    }
  }

  /** The projects to which something was written, sorted by name. */
  projects(): string[] {
    const writtenProjects = [...this.logs].filter(([, log]) => log.isWritten).map(([projectId]) => projectId);
    return [...writtenProjects, ...this.idleProjects].sort();
  }

  /** Resolves when everything applied to any of the tenant's logs is on disk. */
  async durable(): Promise<void> {
    await Promise.all([...this.logs.values()].map((log) => log.durable()));
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.logPromises.values());
    await Promise.all([...this.logs.values()].map((log) => log.close()));
  }

  private async readLog(project_id: string): Promise<ProjectLog> {
    const projectKey = { tenant_id: this.tenantId, project_id };
    const folder = this.options.layout.projectFolder(projectKey);
    const { foreign_events, ...options } = this.options;
    // Other programs append to a workspace's own log only.
    const isHome = this.options.layout.homeProjectOf(this.tenantId) === project_id;
    const log = await ProjectLog.open({
      ...options,
      ...(isHome && foreign_events !== undefined ? { foreign_events } : {}),
      key: projectKey,
      root: this.options.layout.root,
      folder,
      permits: this.permits,
      reloads: this.reloads,
    });
    this.logs.set(project_id, log);
    this.idleProjects.delete(project_id);
    return log;
  }
}

export function assertPermitsLoaded(tenant: TenantLogs): void {
  if (tenant.reloads.count === 0) return;
  throw new StoreUnavailable(
    'A log of this tenant is being reloaded after a failed write. Try again in a moment.',
  );
}
