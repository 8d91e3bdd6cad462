import { addCost, type Cost, NO_COST } from '../../core/engine/check-outcome.js';
import {
  emptyRunsState,
  evolveRuns,
  RUN_EVENT_TYPES,
  type RunsState,
} from '../../core/engine/run-summaries.js';
import type { ProjectKey } from '../../stores/store.js';
import type { Projects } from '../queue/projects.js';
import type { Environment } from '../runtime/environment.js';
import type { EventHistory } from './history.js';

/** Maximum age of a tenant's sums. They are cached, because every iteration of a run requests them. */
const FRESH_MS = 10_000;
/** Tenants whose sums are kept; the least recently used ones are dropped and read again. */
const TENANTS_MAX = 100;

interface TenantSums {
  readonly by_project: Map<string, RunsState>;
  read_at_ms: number;
  reading: Promise<void> | null;
}

/** What the runs of a tenant have spent, over its projects, without loading them. */
export class TenantSpending {
  private readonly tenants = new Map<string, TenantSums>();

  constructor(
    private readonly projects: Projects,
    private readonly history: EventHistory,
    private readonly environment: Pick<Environment, 'clock'>,
  ) {}

  /** What all projects of the tenant except this one have spent. */
  async ofOtherProjects({ tenant_id, project_id }: ProjectKey): Promise<Cost> {
    const sums = this.sumsOf(tenant_id);
    const nowMs = this.environment.clock.monotonicMs();
    if (nowMs - sums.read_at_ms >= FRESH_MS) {
      sums.reading ??= this.catchUp(tenant_id, sums).finally(() => {
        sums.reading = null;
      });
    }
    await sums.reading;
    let total = NO_COST;
    for (const [id, { spent }] of sums.by_project) if (id !== project_id) total = addCost(total, spent);
    return total;
  }

  private sumsOf(tenantId: string): TenantSums {
    const sums = this.tenants.get(tenantId) ?? {
      by_project: new Map<string, RunsState>(),
      read_at_ms: Number.NEGATIVE_INFINITY,
      reading: null,
    };
    this.tenants.delete(tenantId);
    this.tenants.set(tenantId, sums);
    const [oldest] = this.tenants.keys();
    if (this.tenants.size > TENANTS_MAX && oldest !== undefined) this.tenants.delete(oldest);
    return sums;
  }

  /** Reads the events of runs that were added since the last time. */
  private async catchUp(tenant_id: string, sums: TenantSums): Promise<void> {
    const readAtMs = this.environment.clock.monotonicMs();
    for (const project_id of await this.projects.projectIdsOf(tenant_id)) {
      const state = sums.by_project.get(project_id) ?? emptyRunsState();
      sums.by_project.set(project_id, state);
      const filter = { after: state.position, types: RUN_EVENT_TYPES };
      await this.history.forEach({ tenant_id, project_id }, filter, (event) => {
        evolveRuns(state, event);
        return true;
      });
    }
    sums.read_at_ms = readAtMs;
  }
}
