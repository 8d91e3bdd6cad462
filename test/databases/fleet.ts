import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { Coordinator, type Environment, systemEnvironment } from '../../src/coordinator/index.js';
import { skewMarginMs } from '../../src/coordinator/queue/store-time.js';
import type { Limits } from '../../src/core/claims/policy.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import type { DatabaseStore } from '../../src/stores/databases.js';
import type { ProjectKey } from '../../src/stores/store.js';
import { openWithLongTimeouts } from '../../src/stores/testing/open-with-long-timeouts.js';
import { unwrap } from '../support/coordinator-harness.js';

/**
 * Leases short enough to wait for. If the machine is too slow for what must happen within one lease, the test is repeated
 * with the next length.
 */
export const GROWING_LEASES_SECONDS = [2, 6, 20, 60, 300];
const LIMITS: Partial<Limits> = { min_lease_duration_seconds: 1 };

/** Several coordinators over one database, each with its own connections, in a tenant of its own. */
export class DatabaseFleet {
  readonly projectKey: ProjectKey = { tenant_id: `t${randomUUID().slice(0, 8)}`, project_id: 'shop' };

  private constructor(
    readonly coordinators: readonly Coordinator[],
    readonly stores: readonly DatabaseStore[],
  ) {}

  static async open(
    url: string,
    size: number,
    options: { limits?: Partial<Limits>; environment?: Environment } = {},
  ): Promise<DatabaseFleet> {
    const stores = await Promise.all(Array.from({ length: size }, () => openWithLongTimeouts(url)));
    const { environment = systemEnvironment } = options;
    const limits = { ...LIMITS, ...options.limits };
    const coordinators = await Promise.all(
      stores.map((store) => Coordinator.open({ store, blobs: store.blobs, environment, limits })),
    );
    onTestFinished(async () => {
      for (const coordinator of coordinators) coordinator.close();
      for (const store of stores) await store.close();
    });
    return new DatabaseFleet(coordinators, stores);
  }

  get store(): DatabaseStore {
    return this.stores[0]!;
  }

  async plan(plan: unknown): Promise<void> {
    unwrap(await this.coordinatorAt(0).plans.put(this.projectKey, plan));
  }

  coordinatorAt(index: number): Coordinator {
    return this.coordinators[index % this.coordinators.length]!;
  }

  events(): Promise<EventEnvelope[]> {
    return this.store.events(this.projectKey, { after: 0, limit: 10_000 });
  }

  /** Returns when a lease that ends at this time has expired for every caller, by the store's clock. */
  async waitUntilExpired(iso: string | null | undefined): Promise<void> {
    const atMs = Date.parse(iso ?? '') + skewMarginMs(this.store);
    for (;;) {
      const leftMs = atMs - (await this.store.now());
      if (leftMs < 0) return;
      await pause(Math.min(leftMs + 1, 100));
    }
  }
}
