import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { KEY_LOG, writeUnboundKey } from '../../../test/security/support/unbound-key.js';
import { unwrap } from '../../../test/support/coordinator-harness.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { KeyRecord } from '../../core/events/record-events.js';
import { openMemoryStore } from '../../stores/memory/memory-store.js';
import type { ForeignAccess, Store } from '../../stores/store.js';
import { Coordinator } from '../coordinator.js';
import { bindingOf, isBound } from './key-binding.js';

const ACME = { tenant_id: 'acme', platform: false };
const idOf = (token: string): string => token.split('_')[2] ?? '';
const newMeta = () => ({ incarnation: 1, secret: randomBytes(32).toString('hex') });

/** The keys of a store as a newly started coordinator sees them. */
async function keysOf(store: Store, untrusted_files?: ForeignAccess) {
  if (untrusted_files !== undefined) {
    Object.assign(store, { capabilities: { ...store.capabilities, untrusted_files } });
  }
  const coordinator = await Coordinator.open({ store });
  onTestFinished(() => coordinator.close());
  const ring = await coordinator.keys.openKeyRing();
  const stateOf = (keyId: string) => ring.find(keyId)?.key.state;
  return { keys: coordinator.keys, ring, stateOf };
}

/** A store with its own secret and this log. */
function storeWith(events: readonly EventEnvelope[]): Store {
  const store = openMemoryStore();
  store.restore(events);
  return store;
}

describe('the binding of a key', () => {
  const meta = newMeta();
  const record: KeyRecord = {
    state: 'active',
    tenant_id: 'acme',
    role: 'agent',
    label: null,
    user_id: 'alice',
    secret_sha256: 'a'.repeat(64),
    last_four: 'wxyz',
    created_at: '2026-01-04T06:00:00.000Z',
    created_by: 'admin',
    expires_at: '2026-01-05T06:00:00.000Z',
  };
  const bound = { ...record, binding: bindingOf(meta, 'k1', record) };

  test('is valid for the key and the secret it was created with', () => {
    expect(isBound(meta, 'k1', bound)).toBe(true);
    expect(isBound(meta, 'k2', bound)).toBe(false);
    expect(isBound(newMeta(), 'k1', bound)).toBe(false);
    expect(isBound(meta, 'k1', record)).toBe(false);
  });

  test.each([
    { tenant_id: 'other' },
    { tenant_id: null },
    { role: 'operator' as const },
    { user_id: 'bob' },
    { user_id: null },
    { secret_sha256: 'b'.repeat(64) },
    { created_at: '2026-01-04T06:00:01.000Z' },
    { expires_at: '2027-01-05T06:00:00.000Z' },
    { expires_at: null },
    { agent_role: 'architect' },
  ])('is invalid if the record grants something else: %j', (change) => {
    expect(isBound(meta, 'k1', { ...bound, ...change })).toBe(false);
  });

  test('covers the agent role: with another role, or without one, it is invalid', () => {
    const developer = { ...record, agent_role: 'developer' };
    const boundDeveloper = { ...developer, binding: bindingOf(meta, 'k1', developer) };
    expect(isBound(meta, 'k1', boundDeveloper)).toBe(true);
    expect(isBound(meta, 'k1', { ...boundDeveloper, agent_role: 'architect' })).toBe(false);
    const { agent_role: _, ...withoutRole } = boundDeveloper;
    expect(isBound(meta, 'k1', withoutRole)).toBe(false);
  });

  test('is rejected without an exception if it is not a digest', () => {
    for (const binding of ['', 'é'.repeat(64), 7, null, {}]) {
      expect(isBound(meta, 'k1', { ...record, binding } as KeyRecord)).toBe(false);
    }
  });
});

describe('a key', () => {
  test('is valid in the store that created it, and not in another store that has its record', async () => {
    const store = openMemoryStore();
    const home = await keysOf(store);
    const { key_id } = unwrap(await home.keys.create(ACME, { role: 'agent' }));
    expect(home.stateOf(key_id)).toBe('active');
    const away = await keysOf(storeWith(await store.events(KEY_LOG, { after: 0, limit: 10 })));
    expect(away.stateOf(key_id)).toBe('unbound');
    expect(away.ring.hasAnyKey).toBe(true);
    expect(away.ring.rejectedKeys().map((key) => key.key_id)).toEqual([key_id]);
    expect(unwrap(await away.keys.bind()).keys).toEqual([]);
    expect(away.stateOf(key_id)).toBe('unbound');
  });

  test('is valid in a workspace only if it is bound, and gen migrate does not bind it there', async () => {
    const store = openMemoryStore();
    const keyId = idOf(await writeUnboundKey(store));
    const { keys, stateOf } = await keysOf(store, 'log');
    expect(stateOf(keyId)).toBe('unbound');
    expect(await keys.bind()).toMatchObject({ problem: 'FORBIDDEN' });
    const created = unwrap(await keys.create(ACME, { role: 'agent' }));
    expect([stateOf(keyId), stateOf(created.key_id)]).toEqual(['unbound', 'active']);
  });

  test('is invalid if git tracks the secret or the key log, and no key can be created there', async () => {
    const store = openMemoryStore();
    const { key_id } = unwrap(await (await keysOf(store)).keys.create(ACME, { role: 'agent' }));
    const { keys, stateOf } = await keysOf(store, 'secret');
    expect(stateOf(key_id)).toBe('unbound');
    expect(await keys.create(ACME, { role: 'agent' })).toMatchObject({ problem: 'FORBIDDEN' });
  });

  test('without a binding is valid until the keys of its store are bound, and never afterwards', async () => {
    const store = openMemoryStore();
    const old = idOf(await writeUnboundKey(store));
    const { keys, ring, stateOf } = await keysOf(store);
    expect(stateOf(old)).toBe('active');
    const created = unwrap(await keys.create(ACME, { role: 'agent' }));
    expect([stateOf(old), stateOf(created.key_id)]).toEqual(['active', 'active']);
    expect(unwrap(await keys.bind()).keys.map((key) => key.key_id)).toEqual([old]);
    expect(ring.find(old)?.key).toMatchObject({ state: 'active', tenant_id: 'default', role: 'admin' });
    const planted = idOf(await writeUnboundKey(store));
    expect(unwrap(await keys.bind()).keys).toEqual([]);
    expect(stateOf(planted)).toBe('unbound');
  });

  test('without a binding is invalid if the first key of its store was bound', async () => {
    const store = openMemoryStore();
    const { keys, ring, stateOf } = await keysOf(store);
    unwrap(await keys.create(ACME, { role: 'admin' }));
    const planted = idOf(await writeUnboundKey(store));
    await ring.project.refresh();
    expect(stateOf(planted)).toBe('unbound');
  });
});
