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
const apply = (eventType: string, payload: Record<string, unknown>): string | null =>
  keys.apply(log.append(eventType, payload))?.code ?? null;
const idsOf = ({ key_id, public_key }: TestSigner) => ({ key_id, public_key });
const first = (key: TestSigner) => apply(KEY_ENROLLED_EVENT, { ...idsOf(key), how: 'first' });
const replaced = (key: TestSigner) =>
  apply(KEY_ENROLLED_EVENT, { ...idsOf(key), how: 'replaced', by: 'root', reason: 'lost' });
const revoke = (key: TestSigner) =>
  apply(KEY_REVOKED_EVENT, { key_id: key.key_id, by: 'root', reason: 'stolen' });
const rotated = (from: TestSigner, to: TestSigner, signer = from) => {
  const rotation = { ...idsOf(to), previous_key_id: from.key_id };
  const signature = signer.sign(rotationText(log.project, rotation));
  return apply(KEY_ENROLLED_EVENT, { ...rotation, how: 'rotated', signature });
};
const active = (): boolean[] => [one, two, three].map(({ key_id }) => keys.isActive(key_id));

it('enrols a first key, and the key of another coordinator beside it', () => {
  expect([first(one), first(two), first(one)]).toEqual([null, null, null]);
  expect(active()).toEqual([true, true, false]);
  expect(keys.publicKeyOf(one.key_id)).toBe(one.public_key);
  expect(keys.publicKeyOf(three.key_id)).toBe(null);
});

it('ends a key with its rotation, which it must have signed itself', () => {
  first(one);
  expect(rotated(one, two, three)).toBe('BAD_SIGNATURE');
  expect(active()).toEqual([true, false, false]);
  expect(rotated(one, two)).toBe(null);
  expect(active()).toEqual([false, true, false]);
  expect(rotated(one, three)).toBe('REVOKED_KEY');
  expect(first(one)).toBe('REVOKED_KEY');
  expect(keys.publicKeyOf(one.key_id)).toBe(one.public_key);
});

it('refuses a rotation by a key that is unknown', () => {
  expect(rotated(one, two)).toBe('UNKNOWN_KEY');
  expect(active()).toEqual([false, false, false]);
});

it('never activates a revoked key again', () => {
  first(one);
  first(two);
  expect(revoke(one)).toBe(null);
  expect([first(one), replaced(one), rotated(two, one)]).toEqual(Array(3).fill('REVOKED_KEY'));
  expect(active()).toEqual([false, true, false]);
});

it('requires an administrator when no key is active any more', () => {
  first(one);
  revoke(one);
  expect(first(two)).toBe('NOT_FIRST');
  expect(replaced(two)).toBe(null);
  expect(first(three)).toBe(null);
  expect(active()).toEqual([false, true, true]);
});

it('refuses an id that is not of the key, an unknown key, and a payload with other fields', () => {
  expect(first({ ...one, key_id: two.key_id })).toBe('KEY_ID_MISMATCH');
  expect(revoke(one)).toBe('UNKNOWN_KEY');
  expect(apply(KEY_ENROLLED_EVENT, { ...idsOf(one), how: 'replaced', reason: 'no name' })).toBe('MALFORMED');
  expect(apply(KEY_ENROLLED_EVENT, { ...idsOf(one), how: 'first', by: 'x' })).toBe('MALFORMED');
  expect(apply(KEY_REVOKED_EVENT, { key_id: one.key_id })).toBe('MALFORMED');
  expect(apply('note', idsOf(one))).toBe(null);
  expect(active()).toEqual([false, false, false]);
});
