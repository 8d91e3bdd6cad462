import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { personCaller } from '../../../test/support/agent.js';
import { CoordinatorHarness, forEachStore, unwrap } from '../../../test/support/coordinator-harness.js';
import { checkNewEvent } from '../../core/events/catalogue.js';
import { PLATFORM_TENANT, TENANT_PROJECT } from '../../core/subject.js';

const ACME = { tenant_id: 'acme', platform: false };
const OTHER = { tenant_id: 'other', platform: false };
const PLATFORM = { tenant_id: 'acme', platform: true };
const LOG = { tenant_id: PLATFORM_TENANT, project_id: TENANT_PROJECT };
const secretOf = (token: string | null) => /^gck_live_[0-9a-f]{16}_([\w-]{43})$/.exec(token ?? '')?.[1] ?? '';

forEachStore('keys', (open) => {
  const eventsOf = (harness: CoordinatorHarness) => harness.store.events(LOG, { after: 0, limit: 100 });

  test('are shown once, and the log stores the digest of the secret and its last four characters', async () => {
    const harness = await open();
    const body = { role: 'agent', label: 'night shift', user_id: 'alice', request_id: 'r1' };
    const createdKey = unwrap(await harness.coordinator.keys.create(ACME, body, personCaller('admin')));
    const secret = secretOf(createdKey.token);
    expect(createdKey).toEqual({
      key_id: createdKey.token?.split('_')[2],
      tenant_id: 'acme',
      role: 'agent',
      label: 'night shift',
      user_id: 'alice',
      agent_role: null,
      state: 'active',
      last_four: secret.slice(-4),
      created_at: '2026-01-04T06:00:00.000Z',
      created_by: 'admin',
      expires_at: null,
      revoked_at: null,
      token: expect.stringMatching(/^gck_live_/),
    });
    const again = unwrap(await harness.coordinator.keys.create(ACME, body, personCaller('admin')));
    expect(again).toMatchObject({ key_id: createdKey.key_id, token: null });
    const events = await eventsOf(harness);
    expect(events.map(({ event_type }) => event_type)).toEqual(['KEY_CREATED', 'KEY_BINDING_REQUIRED']);
    expect(JSON.stringify(events)).not.toContain(secret);
    const { position: _, ...event } = events[0]!;
    expect(checkNewEvent(event)).toEqual({ ok: true });
    const digest = createHash('sha256').update(secret).digest('hex');
    expect((await harness.coordinator.keys.openKeyRing()).find(createdKey.key_id)?.secret_sha256).toBe(
      digest,
    );
  });

  test('are listed for their own tenant only, and survive a restart', async () => {
    const harness = await open();
    const { key_id } = unwrap(await harness.coordinator.keys.create(ACME, { role: 'viewer' }));
    await harness.restart();
    const listed = unwrap(await harness.coordinator.keys.list(ACME)).keys;
    expect(listed.map((key) => key.key_id)).toEqual([key_id]);
    expect(listed[0]).not.toHaveProperty('secret_sha256');
    expect(unwrap(await harness.coordinator.keys.list(OTHER)).keys).toEqual([]);
    expect((await harness.coordinator.keys.openKeyRing()).hasAnyKey).toBe(true);
  });

  test('stop working when they expire or are revoked, and stay listed', async () => {
    const harness = await open();
    const createdKey = unwrap(
      await harness.coordinator.keys.create(ACME, { role: 'agent', expires_in_seconds: 60 }),
    );
    const ring = await harness.coordinator.keys.openKeyRing();
    expect(createdKey.expires_at).toBe('2026-01-04T06:01:00.000Z');
    harness.advance(59);
    expect(ring.find(createdKey.key_id)?.key.state).toBe('active');
    harness.advance(1);
    expect(ring.find(createdKey.key_id)?.key.state).toBe('expired');
    const other = unwrap(await harness.coordinator.keys.create(ACME, { role: 'agent' }));
    const revoked = unwrap(await harness.coordinator.keys.revoke(ACME, other.key_id, personCaller('admin')));
    expect(revoked).toMatchObject({ state: 'revoked', revoked_at: '2026-01-04T06:01:00.000Z' });
    expect(ring.find(other.key_id)?.key.state).toBe('revoked');
    expect(unwrap(await harness.coordinator.keys.revoke(ACME, other.key_id))).toEqual(revoked);
    for (const { position: _, ...event } of await eventsOf(harness)) {
      expect(checkNewEvent(event)).toEqual({ ok: true });
    }
  });

  test('of another tenant or of the platform cannot be revoked', async () => {
    const { coordinator } = await open();
    const mine = unwrap(await coordinator.keys.create(ACME, { role: 'agent' }));
    const operators = unwrap(await coordinator.keys.create(PLATFORM, { role: 'operator' }));
    const absent = await coordinator.keys.revoke(OTHER, '0'.repeat(16));
    expect(absent).toMatchObject({ problem: 'NOT_FOUND' });
    expect(await coordinator.keys.revoke(OTHER, mine.key_id)).toEqual(absent);
    expect(await coordinator.keys.revoke(ACME, operators.key_id)).toEqual(absent);
    expect(operators.tenant_id).toBeNull();
    expect(unwrap(await coordinator.keys.list(ACME)).keys).toHaveLength(1);
    expect(unwrap(await coordinator.keys.list(PLATFORM)).keys).toHaveLength(2);
  });

  test.each([
    [{ role: 'operator' }, 'FORBIDDEN'],
    [{ role: 'root' }, 'INVALID_REQUEST'],
    [{ role: 'agent', expires_at: '2026-01-04T06:00:00.000Z' }, 'INVALID_REQUEST'],
    [{ role: 'agent', expires_in_seconds: 5, expires_at: '2027-01-04T06:00:00Z' }, 'INVALID_REQUEST'],
    [{ role: 'agent', secret: 'mine' }, 'INVALID_REQUEST'],
  ])('are not created from %j', async (body, code) => {
    const harness = await open();
    expect(await harness.coordinator.keys.create(ACME, body)).toMatchObject({ problem: code });
    expect((await harness.coordinator.keys.openKeyRing()).hasAnyKey).toBe(false);
  });
});

test('a key revoked through one coordinator is invalid at another that has read the revocation', async () => {
  const harness = await CoordinatorHarness.open('memory');
  const second = await harness.openAnother();
  const ring = await second.keys.openKeyRing();
  const { key_id } = unwrap(await harness.coordinator.keys.create(ACME, { role: 'agent' }));
  await ring.project.refresh();
  expect(ring.find(key_id)?.key.state).toBe('active');
  await harness.coordinator.keys.revoke(ACME, key_id);
  await ring.project.refresh();
  expect(ring.find(key_id)?.key.state).toBe('revoked');
});
