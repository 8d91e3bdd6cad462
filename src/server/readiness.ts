import { PLATFORM_TENANT, TENANT_PROJECT } from '../core/subject.js';
import { type Store, StoreBroken, StoreUnavailable } from '../stores/store.js';

/** Whether requests can be served: the store answers, and the logs of at least one tenant are readable. */
export class ReadinessProbe {
  private readonly logsOpened: Promise<void>;

  constructor(
    private readonly store: Store,
    private readonly stopping: AbortSignal,
  ) {
    this.logsOpened = this.openAllLogs().catch(() => {});
  }

  /**
   * Returns the reason if requests cannot be served. It is public, so it names no host, file or tenant, and damaged logs
   * are a count only; operators find which ones in `/metrics` and on standard error.
   */
  async check(): Promise<{ status: 'ready'; damaged_logs?: number } | string> {
    if (this.stopping.aborted) return 'The server is shutting down.';
    await this.logsOpened;
    if (!(await this.isStoreAnswering())) return 'The store does not respond. The server keeps retrying.';
    const damaged = this.store.damage?.() ?? [];
    if (damaged.length === 0) return { status: 'ready' };
    if (await this.hasServableTenant()) return { status: 'ready', damaged_logs: damaged.length };
    return `Every log is damaged (${damaged.length}): no tenant can be served. Run gen verify on the server.`;
  }

  /** `now` alone is not enough: for an engine without its own clock it does not contact the engine. */
  private async isStoreAnswering(): Promise<boolean> {
    try {
      await this.store.now();
      await this.store.project({ tenant_id: PLATFORM_TENANT, project_id: TENANT_PROJECT });
      return true;
    } catch (error) {
      if (error instanceof StoreUnavailable || error instanceof StoreBroken) return false;
      throw error;
    }
  }

  /** Opens every tenant's logs once, so that damage is known before they are needed. */
  private async openAllLogs(): Promise<void> {
    for (const tenantId of (await this.store.tenantIds?.()) ?? []) {
      if (this.stopping.aborted) return;
      // The store records the damage it finds; other errors recur with the requests that meet them.
      await this.store.projects(tenantId).catch(() => {});
    }
  }

  private async hasServableTenant(): Promise<boolean> {
    const refused = new Set(
      this.store.damage?.().flatMap(({ tenant_id, isServed }) => (isServed ? [] : [tenant_id])),
    );
    const tenants = (await this.store.tenantIds?.()) ?? [];
    return tenants.some((tenantId) => tenantId !== PLATFORM_TENANT && !refused.has(tenantId));
  }
}
