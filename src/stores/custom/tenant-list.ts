import { StoreUnavailable } from '../store.js';
import type { SharedRecords } from './shared-records.js';

/** The log with the ids of the tenants that have had a permit on a head, as JSON strings. */
const TENANTS_LOG = 'tenants';
const TRIES_MAX = 20;

/** The tenants of a shared store in which a lease may end. A coordinator that starts reads this list to find them. */
export class TenantList {
  private readonly tenantIds = new Set<string>();
  private length = 0;

  constructor(private readonly records: SharedRecords) {}

  /** Adds a tenant to the list; the entry is durable when the promise resolves. */
  async add(tenantId: string): Promise<void> {
    for (let tries = 0; !this.tenantIds.has(tenantId); tries += 1) {
      if (tries === TRIES_MAX)
        throw new StoreUnavailable(
          `In each of ${TRIES_MAX} attempts, another coordinator added a tenant first. Try again in a moment.`,
        );
      await this.catchUp();
      if (this.tenantIds.has(tenantId)) return;
      await this.records.add(TENANTS_LOG, this.length + 1, JSON.stringify(tenantId));
    }
  }

  async all(): Promise<readonly string[]> {
    await this.catchUp();
    return [...this.tenantIds];
  }

  private async catchUp(): Promise<void> {
    for (;;) {
      const after = this.length;
      const texts = await this.records.read(TENANTS_LOG, after);
      if (texts.length === 0) return;
      for (const text of texts) this.tenantIds.add(JSON.parse(text));
      // Another call may have read the same records meanwhile.
      this.length = Math.max(this.length, after + texts.length);
    }
  }
}
