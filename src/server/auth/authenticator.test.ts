import { describe, expect, test } from 'vitest';
import { CoordinatorHarness, unwrap } from '../../../test/support/coordinator-harness.js';
import { isProblem } from '../../coordinator/wire/problem.js';
import { openAuthenticator } from './authenticator.js';

const ACME = { tenant_id: 'acme', platform: true };
const bearer = (token: string | null) => ({ authorization: `Bearer ${token}` });
const NOBODY = { authorization: undefined };

async function begin(host = '127.0.0.1') {
  const harness = await CoordinatorHarness.open('memory');
  const keys = await harness.coordinator.keys.openKeyRing();
  const make = async (body: object) => unwrap(await harness.coordinator.keys.create(ACME, body));
  return { harness, keys, make, door: await openAuthenticator({ keys, host }) };
}

describe('an open server', () => {
  test.each(['127.0.0.1', '127.8.9.1', 'localhost', '::1', '[::1]'])('may listen on %s', async (host) => {
    const { door } = await begin(host);
    expect(door.isOpen).toBe(true);
    expect(await door.authenticate(NOBODY)).toMatchObject({
      kind: 'open',
      tenant_id: null,
      role: 'operator',
    });
  });

  test.each(['0.0.0.0', '::', '10.0.0.1', 'example.com', '127.0.0.1.example.com'])(
    'does not start on %s',
    async (host) => {
      await expect(begin(host)).rejects.toThrow(/without authentication/);
    },
  );

  test('requires a credential after the first key, even if that key is revoked', async () => {
    const { harness, door, make } = await begin();
    const { key_id } = await make({ role: 'admin' });
    expect(door.isOpen).toBe(false);
    expect(await door.authenticate(NOBODY)).toMatchObject({ problem: 'UNAUTHENTICATED' });
    await harness.coordinator.keys.revoke(ACME, key_id);
    expect(door.isOpen).toBe(false);
  });
});

describe('a key', () => {
  test('identifies its user, tenant and role', async () => {
    const { door, make } = await begin();
    const { token, key_id } = await make({ role: 'agent', user_id: 'alice' });
    expect(await door.authenticate(bearer(token))).toEqual({
      id: `key-${key_id}`,
      kind: 'key',
      tenant_id: 'acme',
      role: 'agent',
      user_id: 'alice',
    });
  });

  test('of an operator is valid in every tenant', async () => {
    const { door, make } = await begin();
    const { token } = await make({ role: 'operator' });
    expect(await door.authenticate(bearer(token))).toMatchObject({ tenant_id: null, role: 'operator' });
  });

  test('works on any address until it expires or is revoked', async () => {
    const { harness, keys, make } = await begin();
    const short = await make({ role: 'agent', expires_in_seconds: 60 });
    const long = await make({ role: 'agent' });
    const door = await openAuthenticator({ keys, host: '0.0.0.0' });
    const works = async (token: string | null) => !isProblem(await door.authenticate(bearer(token)));
    expect([await works(short.token), await works(long.token)]).toEqual([true, true]);
    harness.advance(60);
    expect([await works(short.token), await works(long.token)]).toEqual([false, true]);
    await harness.coordinator.keys.revoke(ACME, long.key_id);
    expect(await works(long.token)).toBe(false);
  });

  test('that is invalid for any reason gets the same refusal', async () => {
    const { harness, door, make } = await begin();
    const { token, key_id } = await make({ role: 'agent' });
    const gone = await make({ role: 'agent' });
    await harness.coordinator.keys.revoke(ACME, gone.key_id);
    const whole = token ?? '';
    const last = whole.at(-2) === 'A' ? 'B' : 'A';
    const wrong = [
      whole.slice(0, -2) + last + whole.at(-1),
      whole.replace(key_id, '0'.repeat(16)),
      gone.token ?? '',
      whole.slice(0, -1),
      'gck_live__',
    ];
    const answers = await Promise.all(wrong.map((each) => door.authenticate(bearer(each))));
    expect(answers.every(isProblem)).toBe(true);
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });

  test.each(['Basic abc', 'Bearer', 'Bearer a b', 'Bearer x.y.z'])(
    'is not accepted in the form %j',
    async (authorization) => {
      const { door, make } = await begin();
      await make({ role: 'agent' });
      expect(await door.authenticate({ authorization })).toMatchObject({ problem: 'UNAUTHENTICATED' });
    },
  );
});
