import { TenantSlots } from '../slots.js';
import { idOfFolder, type Layout } from './layout.js';
import { type LogOptions, ProjectLog } from './project-log.js';

export type TenantOptions = Omit<LogOptions, 'root' | 'folder' | 'key' | 'slots' | 'reloads'> & {
  readonly layout: Layout;
};

/** A tenant's logs. All of them are opened together: who occupies a scope is known only when every log is read. */
export class Tenant {
  readonly slots = new TenantSlots();
  readonly reloads = { count: 0 };
  readonly logs = new Map<string, ProjectLog>();
  private readonly opening = new Map<string, Promise<ProjectLog>>();

  private constructor(
    private readonly tenant_id: string,
    private readonly options: TenantOptions,
  ) {}

  static async open(tenant_id: string, options: TenantOptions): Promise<Tenant> {
    const tenant = new Tenant(tenant_id, options);
    try {
      const { disk, layout } = options;
      const home = layout.homeOf(tenant_id);
      if (home !== null) await tenant.openLog(home);
      for (const name of await disk.list(layout.tenantFolder(tenant_id))) {
        const project_id = idOfFolder(name);
        if (project_id !== null) await tenant.openLog(project_id);
      }
    } catch (error) {
      await tenant.close();
      throw error;
    }
    return tenant;
  }

  /** The log of a project, begun when it has none yet. */
  openLog(project_id: string): Promise<ProjectLog> {
    const known = this.opening.get(project_id);
    if (known !== undefined) return known;
    const opening = this.readLog(project_id);
    this.opening.set(project_id, opening);
    opening.catch(() => this.opening.delete(project_id));
    return opening;
  }

  /** The projects of which something was written, by name. */
  projects(): string[] {
    return [...this.logs]
      .filter(([, log]) => log.isWritten)
      .map(([project_id]) => project_id)
      .sort();
  }

  /** Everything taken in any of the tenant's logs is on the disk. */
  async durable(): Promise<void> {
    await Promise.all([...this.logs.values()].map((log) => log.durable()));
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.opening.values());
    await Promise.all([...this.logs.values()].map((log) => log.close()));
  }

  private async readLog(project_id: string): Promise<ProjectLog> {
    const key = { tenant_id: this.tenant_id, project_id };
    const folder = this.options.layout.projectFolder(key);
    const log = await ProjectLog.open({
      ...this.options,
      key,
      root: this.options.layout.root,
      folder,
      slots: this.slots,
      reloads: this.reloads,
    });
    this.logs.set(project_id, log);
    return log;
  }
}
