import { describe, expect, test } from 'vitest';
import { CoordinatorHarness, unwrap } from '../../../test/support/coordinator-harness.js';
import { isProblem } from '../../coordinator/wire/problem.js';
import { openAuthenticator } from './authenticator.js';

const ACME = { tenant_id: 'acme', platform: true };
const bearer = (token: string | null) => `Bearer ${token}`;
const NO_AUTHORIZATION = null;

async function openWithKeys(host = '127.0.0.1') {
  const harness = await CoordinatorHarness.open('memory');
  const keys = await harness.coordinator.keys.openKeyRing();
  const createKey = async (body: object) => unwrap(await harness.coordinator.keys.create(ACME, body));
  return { harness, keys, createKey, authenticator: await openAuthenticator({ keys, host }) };
}

describe('a server in open mode', () => {
  test.each(['127.0.0.1', '127.8.9.1', 'localhost', '::1', '[::1]'])('may listen on %s', async (host) => {
    const { authenticator } = await openWithKeys(host);
    expect(authenticator.isInOpenMode).toBe(true);
    expect(await authenticator.authenticate(NO_AUTHORIZATION)).toMatchObject({
      kind: 'open',
      tenant_id: null,
      role: 'operator',
    });
  });

  test.each(['0.0.0.0', '::', '10.0.0.1', 'example.com', '127.0.0.1.example.com'])(
    'does not start on %s',
    async (host) => {
      await expect(openWithKeys(host)).rejects.toThrow(/without authentication/);
    },
  );

  test('requires a credential after the first key, even if that key is revoked', async () => {
    const { harness, authenticator, createKey } = await openWithKeys();
    const { key_id } = await createKey({ role: 'admin' });
    expect(authenticator.isInOpenMode).toBe(false);
    expect(await authenticator.authenticate(NO_AUTHORIZATION)).toMatchObject({ problem: 'UNAUTHENTICATED' });
    await harness.coordinator.keys.revoke(ACME, key_id);
    expect(authenticator.isInOpenMode).toBe(false);
  });
});

describe('a key', () => {
  test('identifies its user, tenant and role', async () => {
    const { authenticator, createKey } = await openWithKeys();
    const { token, key_id } = await createKey({ role: 'agent', user_id: 'alice' });
    expect(await authenticator.authenticate(bearer(token))).toEqual({
      id: `key-${key_id}`,
      kind: 'key',
      tenant_id: 'acme',
      role: 'agent',
      name: 'alice',
      user_id: 'alice',
      agent_role: null,
    });
  });

  test('of an operator is valid in every tenant', async () => {
    const { authenticator, createKey } = await openWithKeys();
    const { token } = await createKey({ role: 'operator' });
    expect(await authenticator.authenticate(bearer(token))).toMatchObject({
      tenant_id: null,
      role: 'operator',
    });
  });

  test('works on any address until it expires or is revoked', async () => {
    const { harness, keys, createKey } = await openWithKeys();
    const short = await createKey({ role: 'agent', expires_in_seconds: 60 });
    const long = await createKey({ role: 'agent' });
    const authenticator = await openAuthenticator({ keys, host: '0.0.0.0' });
    const isAccepted = async (token: string | null) =>
      !isProblem(await authenticator.authenticate(bearer(token)));
    expect([await isAccepted(short.token), await isAccepted(long.token)]).toEqual([true, true]);
    harness.advance(60);
    expect([await isAccepted(short.token), await isAccepted(long.token)]).toEqual([false, true]);
    await harness.coordinator.keys.revoke(ACME, long.key_id);
    expect(await isAccepted(long.token)).toBe(false);
  });

  test('that is invalid for any reason gets the same refusal', async () => {
    const { harness, authenticator, createKey } = await openWithKeys();
    const { token, key_id } = await createKey({ role: 'agent' });
    const revoked = await createKey({ role: 'agent' });
    await harness.coordinator.keys.revoke(ACME, revoked.key_id);
    const validToken = token ?? '';
    const otherChar = validToken.at(-2) === 'A' ? 'B' : 'A';
    const invalidTokens = [
      validToken.slice(0, -2) + otherChar + validToken.at(-1),
      validToken.replace(key_id, '0'.repeat(16)),
      revoked.token ?? '',
      validToken.slice(0, -1),
      'gck_live__',
    ];
    const replies = await Promise.all(invalidTokens.map((each) => authenticator.authenticate(bearer(each))));
    expect(replies.every(isProblem)).toBe(true);
    expect(new Set(replies.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });

  test.each(['Basic abc', 'Bearer', 'Bearer a b', 'Bearer x.y.z'])(
    'is not accepted in the form %j',
    async (authorization) => {
      const { authenticator, createKey } = await openWithKeys();
      await createKey({ role: 'agent' });
      expect(await authenticator.authenticate(authorization)).toMatchObject({
        problem: 'UNAUTHENTICATED',
      });
    },
  );
});
