import { expect, onTestFinished, test, vi } from 'vitest';
import { Authorization } from './authorization.js';
import { createCredentialWatch } from './credential-watch.js';
import type { Principal } from './principal.js';

const ALICE: Principal = {
  id: 'jwt/acme/alice',
  kind: 'jwt',
  tenant_id: 'acme',
  role: 'agent',
  name: 'alice',
  user_id: 'alice',
  agent_role: null,
};

/** A key ring and a credential under the test's control. */
function newWatchedCredential(expiresAtMs: number | null = null) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const keys: { change: () => void } = { change: () => {} };
  const credential = { isValid: true, clock_behind_ms: 0 };
  const now = () => Date.now() - credential.clock_behind_ms;
  const startMs = now();
  const validity = {
    isValid: () => credential.isValid && (expiresAtMs === null || now() - startMs < expiresAtMs),
    expiresInMs: () => (expiresAtMs === null ? null : expiresAtMs - (now() - startMs)),
  };
  const onChange = (listener: () => void) => {
    keys.change = listener;
    return () => {};
  };
  const watch = createCredentialWatch({ onChange }, validity);
  const authenticator = {
    isValid: validity.isValid,
    watch,
  };
  return { keys, credential, watch, authenticator };
}

test('notifies a watcher once when a change of the keys makes its credential invalid', () => {
  const { keys, credential, watch } = newWatchedCredential();
  const onInvalid = vi.fn();
  watch(ALICE, onInvalid);
  keys.change();
  expect(onInvalid).not.toHaveBeenCalled();
  credential.isValid = false;
  keys.change();
  keys.change();
  expect(onInvalid).toHaveBeenCalledTimes(1);
});

test('does not notify a watcher that has stopped watching', () => {
  const { keys, credential, watch } = newWatchedCredential(1000);
  const onInvalid = vi.fn();
  watch(ALICE, onInvalid)();
  credential.isValid = false;
  keys.change();
  vi.advanceTimersByTime(2000);
  expect(onInvalid).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ['a second', 1000],
  ['a year', 365 * 24 * 3600 * 1000],
])('notifies when a credential expires after %s, and not before', (_, expiresMs) => {
  const { watch } = newWatchedCredential(expiresMs);
  const onInvalid = vi.fn();
  watch(ALICE, onInvalid);
  vi.advanceTimersByTime(expiresMs - 1);
  expect(onInvalid).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onInvalid).toHaveBeenCalledTimes(1);
});

test('waits for the expiry by a clock that is behind this machine', () => {
  const { watch, credential } = newWatchedCredential(1000);
  const onInvalid = vi.fn();
  watch(ALICE, onInvalid);
  credential.clock_behind_ms = 500;
  vi.advanceTimersByTime(1000);
  expect(onInvalid).not.toHaveBeenCalled();
  vi.advanceTimersByTime(500);
  expect(onInvalid).toHaveBeenCalledTimes(1);
});

test('an authorization ends when a recheck is refused, although the credential itself has not changed', async () => {
  const { authenticator } = newWatchedCredential();
  let isSigningKeyKnown = true;
  const authorization = new Authorization(authenticator, ALICE, async () => isSigningKeyKnown);
  const end = vi.fn();
  authorization.onEnd(end);
  await authorization.recheck();
  expect([authorization.isStillAuthorized(), end.mock.calls.length]).toEqual([true, 0]);
  isSigningKeyKnown = false;
  await authorization.recheck();
  await authorization.recheck();
  expect([authorization.isStillAuthorized(), end.mock.calls.length]).toEqual([false, 1]);
});

test('an authorization stays valid when a recheck fails', async () => {
  const { authenticator } = newWatchedCredential();
  const authorization = new Authorization(authenticator, ALICE, () =>
    Promise.reject(new Error('no network')),
  );
  await authorization.recheck();
  expect(authorization.isStillAuthorized()).toBe(true);
});
