import { beforeEach, expect, it } from 'vitest';
import { AuditKeys } from './audit-keys.js';
import { KEY_ENROLLED_EVENT, KEY_REVOKED_EVENT, rotationText } from './key-events.js';
import { AuditedLog } from './testing/audited-log.js';
import { newSigner, type TestSigner, testSha256, verifyEd25519 } from './testing/primitives.js';

const [one, two, three] = [newSigner(), newSigner(), newSigner()];
const log = new AuditedLog();
let keys: AuditKeys;
beforeEach(() => {
  keys = new AuditKeys(testSha256, verifyEd25519);
});

/** The code of the fault, or null. */
const applyEvent = (eventType: string, payload: Record<string, unknown>): string | null =>
  keys.apply(log.append(eventType, payload))?.code ?? null;
const idsOf = ({ key_id, public_key }: TestSigner) => ({ key_id, public_key });
const enrolFirstKey = (key: TestSigner) => applyEvent(KEY_ENROLLED_EVENT, { ...idsOf(key), how: 'first' });
const replaceKey = (key: TestSigner) =>
  applyEvent(KEY_ENROLLED_EVENT, { ...idsOf(key), how: 'replaced', by: 'root', reason: 'lost' });
const revoke = (key: TestSigner) =>
  applyEvent(KEY_REVOKED_EVENT, { key_id: key.key_id, by: 'root', reason: 'stolen' });
const rotateKey = (from: TestSigner, to: TestSigner, signer = from) => {
  const rotation = { ...idsOf(to), previous_key_id: from.key_id };
  const signature = signer.sign(rotationText(log.project, rotation));
  return applyEvent(KEY_ENROLLED_EVENT, { ...rotation, how: 'rotated', signature });
};
const activeStates = (): boolean[] => [one, two, three].map(({ key_id }) => keys.isActive(key_id));

it('enrols a first key, and the key of another coordinator beside it', () => {
  expect([enrolFirstKey(one), enrolFirstKey(two), enrolFirstKey(one)]).toEqual([null, null, null]);
  expect(activeStates()).toEqual([true, true, false]);
  expect(keys.publicKeyOf(one.key_id)).toBe(one.public_key);
  expect(keys.publicKeyOf(three.key_id)).toBe(null);
});

it('ends a key when it is rotated, and requires its own signature on the rotation', () => {
  enrolFirstKey(one);
  expect(rotateKey(one, two, three)).toBe('BAD_SIGNATURE');
  expect(activeStates()).toEqual([true, false, false]);
  expect(rotateKey(one, two)).toBe(null);
  expect(activeStates()).toEqual([false, true, false]);
  expect(rotateKey(one, three)).toBe('REVOKED_KEY');
  expect(enrolFirstKey(one)).toBe('REVOKED_KEY');
  expect(keys.publicKeyOf(one.key_id)).toBe(one.public_key);
});

it('refuses a rotation by a key that is unknown', () => {
  expect(rotateKey(one, two)).toBe('UNKNOWN_KEY');
  expect(activeStates()).toEqual([false, false, false]);
});

it('never activates a revoked key again', () => {
  enrolFirstKey(one);
  enrolFirstKey(two);
  expect(revoke(one)).toBe(null);
  expect([enrolFirstKey(one), replaceKey(one), rotateKey(two, one)]).toEqual(Array(3).fill('REVOKED_KEY'));
  expect(activeStates()).toEqual([false, true, false]);
});

it('requires an administrator when no key is active any more', () => {
  enrolFirstKey(one);
  revoke(one);
  expect(enrolFirstKey(two)).toBe('NOT_FIRST');
  expect(replaceKey(two)).toBe(null);
  expect(enrolFirstKey(three)).toBe(null);
  expect(activeStates()).toEqual([false, true, true]);
});

it('refuses the id of another key, an unknown key, and a payload with other fields', () => {
  expect(enrolFirstKey({ ...one, key_id: two.key_id })).toBe('KEY_ID_MISMATCH');
  expect(revoke(one)).toBe('UNKNOWN_KEY');
  expect(applyEvent(KEY_ENROLLED_EVENT, { ...idsOf(one), how: 'replaced', reason: 'no name' })).toBe(
    'MALFORMED',
  );
  expect(applyEvent(KEY_ENROLLED_EVENT, { ...idsOf(one), how: 'first', by: 'x' })).toBe('MALFORMED');
  expect(applyEvent(KEY_REVOKED_EVENT, { key_id: one.key_id })).toBe('MALFORMED');
  expect(applyEvent('note', idsOf(one))).toBe(null);
  expect(activeStates()).toEqual([false, false, false]);
});
