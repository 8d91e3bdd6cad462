import type { AuditService } from '../coordinator/audit/audit-service.js';
import { PLATFORM_TENANT, TENANT_PROJECT } from '../core/subject.js';
import { type Store, StoreBroken, StoreUnavailable } from '../stores/store.js';

/**
 * Returns `ready`, or a sentence that says why no request can be served. `damaged_logs` and `audit_alarms` are counts
 * only, because the reply is public.
 */
export type ReadinessProbe = () => Promise<
  { status: 'ready'; damaged_logs?: number; audit_alarms?: number } | string
>;

/**
 * Probes whether requests can be served: the store answers, and the logs of at least one tenant are readable. The
 * reply is public, so it names no host, file or tenant: operators find damage in `/metrics` and on standard error.
 */
export function readinessProbe(
  store: Store,
  stopping: AbortSignal,
  audit: Pick<AuditService, 'alarms'>,
): ReadinessProbe {
  const logsOpened = openAllLogs(store, stopping).catch(() => {});
  return async () => {
    if (stopping.aborted) return 'The server is shutting down.';
    await logsOpened;
    if (!(await isAnswering(store))) return 'The store does not respond. The server keeps retrying.';
    const damaged = store.damage?.() ?? [];
    const audit_alarms = [...audit.alarms()].length;
    const alarms = audit_alarms === 0 ? {} : { audit_alarms };
    if (damaged.length === 0) return { status: 'ready', ...alarms };
    if (await hasServableTenant(store)) return { status: 'ready', damaged_logs: damaged.length, ...alarms };
    return `Every tenant has a damaged log (${damaged.length} damaged places found), so no tenant can be served. Run gen verify on the server.`;
  };
}

/** Whether the store responds. `now` alone does not suffice: it does not contact a database that has no clock of its own. */
async function isAnswering(store: Store): Promise<boolean> {
  try {
    await store.now();
    await store.project({ tenant_id: PLATFORM_TENANT, project_id: TENANT_PROJECT });
    return true;
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof StoreBroken) return false;
    throw error;
  }
}

/**
 * Opens every tenant's logs once, so that damage is known before they are needed. Tenants with a separate store are
 * left out: readiness must not wait for a store that cannot be reached.
 */
async function openAllLogs(routedStore: Store, stopping: AbortSignal): Promise<void> {
  const store = (await routedStore.storeOf?.(PLATFORM_TENANT)) ?? routedStore;
  // A store that does not verify its logs would find no damage, and may have very many tenants.
  if (store.damage === undefined) return;
  for (const tenantId of await store.tenantIds()) {
    if (stopping.aborted) return;
    // The store records the damage that it finds. Any other error recurs in the requests that need the log.
    await store.projects(tenantId).catch(() => {});
  }
}

async function hasServableTenant(store: Store): Promise<boolean> {
  const unservedTenants = new Set(
    store.damage?.().flatMap(({ tenant_id, isServed }) => (isServed ? [] : [tenant_id])),
  );
  const tenants = await store.tenantIds();
  return tenants.some((tenantId) => tenantId !== PLATFORM_TENANT && !unservedTenants.has(tenantId));
}
