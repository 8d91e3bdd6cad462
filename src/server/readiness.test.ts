import { expect, it } from 'vitest';
import { openMemoryStore } from '../stores/memory/memory-store.js';
import { StoreBroken, StoreUnavailable } from '../stores/store.js';
import { ReadinessProbe } from './readiness.js';

it.each([
  new StoreUnavailable('No engine answers at db.internal:5432.'),
  new StoreBroken('The store at /srv/fleet has stopped.'),
])('is not ready while the store has the time but cannot read: %s', async (error) => {
  const store = openMemoryStore();
  const readiness = new ReadinessProbe(store, new AbortController().signal);
  expect(await readiness.check()).toEqual({ status: 'ready' });
  Object.assign(store, { project: () => Promise.reject(error) });
  expect(await readiness.check()).toBe('The store does not respond. The server keeps retrying.');
});
