import { expect, it } from 'vitest';
import { openMemoryStore } from '../stores/memory/memory-store.js';
import { StoreBroken, StoreUnavailable } from '../stores/store.js';
import { readinessProbe } from './readiness.js';

it.each([
  new StoreUnavailable('No engine answers at db.internal:5432.'),
  new StoreBroken('The store at /srv/fleet has stopped.'),
])('the server is not ready while the store returns the time but cannot read: %s', async (error) => {
  const store = openMemoryStore();
  const readiness = readinessProbe(store, new AbortController().signal, { alarms: () => [] });
  expect(await readiness()).toEqual({ status: 'ready' });
  Object.assign(store, { project: () => Promise.reject(error) });
  expect(await readiness()).toBe('The store does not respond. The server keeps retrying.');
});

it.each([
  [false, []],
  [true, ['acme', 'other']],
])(
  'reads the projects of all tenants at the start only if the store verifies them: %s',
  async (isVerifying, expectedTenants) => {
    const store = openMemoryStore();
    const readTenants: string[] = [];
    Object.assign(store, {
      tenantIds: async () => ['acme', 'other'],
      projects: async (tenantId: string) => {
        readTenants.push(tenantId);
        return [];
      },
      ...(isVerifying ? { damage: () => [] } : {}),
    });
    const readiness = readinessProbe(store, new AbortController().signal, { alarms: () => [] });
    expect(await readiness()).toEqual({ status: 'ready' });
    expect(readTenants).toEqual(expectedTenants);
  },
);
