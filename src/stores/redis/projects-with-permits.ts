import { pageOfProjects } from '../project-order.js';
import type { ProjectKey, ProjectsWithPermitsPage } from '../store.js';
import type { RedisConnection } from './connection.js';
import type { RedisKeys } from './keys.js';

/** Tenants that are read at once. */
const TENANTS_AT_ONCE = 100;

/**
 * Finds the projects that hold permits on heads. The commits of a tenant list its projects; a script may write only the
 * keys of one tenant, so the tenants are listed in another key, before the first commit.
 */
export class RedisProjectsWithPermits {
  /** The tenants that this process has added. */
  private readonly addedTenants = new Set<string>();

  constructor(
    private readonly connection: Pick<RedisConnection, 'send'>,
    private readonly keys: RedisKeys,
  ) {}

  /** Lists the tenants of these projects. Costs one command per tenant and process. */
  async addTenants(projects: readonly ProjectKey[]): Promise<void> {
    for (const { tenant_id } of projects) {
      if (this.addedTenants.has(tenant_id)) continue;
      await this.connection.send(['SADD', this.keys.tenants, tenant_id]);
      this.addedTenants.add(tenant_id);
    }
  }

  /** The tenants to which any commit was sent, even one that was refused; sorted by name. */
  async tenantIds(): Promise<string[]> {
    return ((await this.connection.send(['SMEMBERS', this.keys.tenants])) as string[]).sort();
  }

  /** Ordered by tenant, then by project. */
  async page({ after, limit }: ProjectsWithPermitsPage): Promise<ProjectKey[]> {
    const all = await this.tenantIds();
    const tenants = all.filter((tenantId) => after === null || tenantId >= after.tenant_id);
    let projects: ProjectKey[] = [];
    for (let first = 0; first < tenants.length && projects.length < limit; first += TENANTS_AT_ONCE) {
      const batch = tenants.slice(first, first + TENANTS_AT_ONCE);
      const lists = await Promise.all(batch.map((tenantId) => this.heldOf(tenantId)));
      projects = pageOfProjects([...projects, ...lists.flat()], after, limit);
    }
    return projects;
  }

  private async heldOf(tenant_id: string): Promise<ProjectKey[]> {
    const names = (await this.connection.send(['ZRANGE', this.keys.held(tenant_id), '0', '-1'])) as string[];
    return names.map((project_id) => ({ tenant_id, project_id }));
  }
}
