import { generateKeyPairSync, type KeyObject, verify } from 'node:crypto';
import { expect, test } from 'vitest';
import { publicKeyText, signCommand } from '../../client/sign-command.js';
import { sha256Hex } from '../../coordinator/runtime/identity.js';
import type { EventEnvelope } from '../events/envelope.js';
import { bodyText, readSignature, type SignedCommand, signedText } from '../signing.js';
import { sessionSubject } from '../subject.js';
import { SessionSignatureChecker } from './session-signature-checker.js';

const IDS = { tenant_id: 'acme', project_id: 'shop' };
const sessionKeys = generateKeyPairSync('ed25519');
const otherKeys = generateKeyPairSync('ed25519');

const isSignedBy = (key: string, text: string, value: string): boolean =>
  [sessionKeys, otherKeys].some(
    ({ publicKey }) =>
      publicKeyText(publicKey) === key &&
      verify(null, Buffer.from(text), publicKey, Buffer.from(value, 'base64url')),
  );

const eventOf = (fields: object): EventEnvelope =>
  ({
    ...IDS,
    event_id: 'e',
    timestamp: '2026-01-04T06:00:00.000Z',
    position: 1,
    agent_id: 'a',
    ...fields,
  }) as never;

const sessionOpening = (session_id: string, key: KeyObject | null = sessionKeys.publicKey): EventEnvelope =>
  eventOf({
    event_type: 'SESSION_OPENED',
    subject: sessionSubject(session_id),
    session_id,
    payload: { record: key === null ? {} : { public_key: publicKeyText(key) } },
  });

/** The payload fields of a command that a session has signed. */
function signedBy(key: KeyObject, command: SignedCommand, body: Record<string, unknown>) {
  const toSign = { ...IDS, command, body };
  const signature = signCommand(toSign, key);
  const { issued_at } = readSignature(signature)!;
  return { signature, signed_text: signedText(toSign, sha256Hex(bodyText(toSign)), issued_at) };
}

const BODY = { task_id: 'A-001-core', session_id: 's1', generation: 3, request_id: 'r1', result_data: 1 };
const SIGNED = signedBy(sessionKeys.privateKey, 'submit_result', BODY);
const RESULT = {
  event_type: 'RESULT_SUBMITTED',
  subject: 'A-001-core',
  session_id: 's1',
  generation: 3,
  request_id: 'r1',
  payload: { ...SIGNED, result_sha256: 'abc' },
};

function faultOf(change: object, session = sessionOpening('s1')): string | null {
  const checker = new SessionSignatureChecker(isSignedBy);
  checker.visit(session);
  const fault = checker.visit(eventOf({ ...RESULT, ...change }));
  expect([checker.checkedCount, checker.uncheckedCount]).toEqual([1, 0]);
  return fault;
}

test('accepts what the session signed', () => {
  expect(faultOf({})).toBeNull();
});

const withText = (from: string, to: string) => ({
  payload: { ...RESULT.payload, signed_text: SIGNED.signed_text.replace(from, to) },
});
const bodySha256 = SIGNED.signed_text.split('\n')[7] ?? '';

test.each([
  ['another generation', { generation: 4 }, 'generation'],
  ['another generation, also in the text', { generation: 4, ...withText('\n3\n', '\n4\n') }, 'did not sign'],
  ['another subject', { subject: 'A-002-other' }, 'subject'],
  ['another request', { request_id: 'r2' }, 'request_id'],
  ['another project', { project_id: 'other' }, 'project'],
  ['another kind of event', { event_type: 'CLAIM_RELEASED' }, 'command'],
  [
    'another body',
    withText(
      bodySha256,
      bodySha256.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
    ),
    'did not sign',
  ],
  ['a malformed signed text', { payload: { ...SIGNED, signed_text: 'gcc/v1' } }, 'malformed'],
  ['a malformed signature', { payload: { ...SIGNED, signature: 'v1;' } }, 'malformed'],
])('reports a signature that does not match its event: %s', (_, change, message) => {
  expect(faultOf(change)).toContain(message);
});

test('reports a signature of another key, or of a session without a key', () => {
  expect(faultOf({}, sessionOpening('s1', otherKeys.publicKey))).toContain('did not sign');
  expect(faultOf({}, sessionOpening('s1', null))).toContain('was opened without a key');
  expect(faultOf({ session_id: 's2' })).toContain('was opened without a key');
});

test('reports the signature of an earlier grant on a later grant of the same subject', () => {
  const body = { task_id: 'A-001-core', session_id: 's1', request_id: 'r1' };
  const payload = signedBy(sessionKeys.privateKey, 'claim_task', body);
  const grant = { event_type: 'CLAIM_ACQUIRED', subject: 'A-001-core', session_id: 's1', payload };
  const checker = new SessionSignatureChecker(isSignedBy);
  checker.visit(sessionOpening('s1'));
  expect(checker.visit(eventOf({ ...grant, generation: 1, request_id: 'r1' }))).toBeNull();
  // The claims of a batch that is granted as a whole have the request id of the batch.
  const repetitionFault = checker.visit(eventOf({ ...grant, generation: 2, request_id: 'r2' }));
  expect(repetitionFault).toBe('its signature belongs to an earlier grant');
});

test('a session that is opened again without a key keeps its key', () => {
  const checker = new SessionSignatureChecker(isSignedBy);
  for (const event of [sessionOpening('s1'), sessionOpening('s1', null)]) checker.visit(event);
  expect(checker.visit(eventOf(RESULT))).toBeNull();
});

test('a signed command may spell an edge differently from its event', () => {
  const body = { feature_id: 'REQ-F-1', edge: 'Design → Code', session_id: 's1', request_id: 'r1' };
  const payload = signedBy(sessionKeys.privateKey, 'claim_task', body);
  expect(faultOf({ event_type: 'edge_started', subject: 'REQ-F-1#design_code', payload })).toBeNull();
});

test('counts the events it cannot check: without a signed text, or of a session whose key was dropped', () => {
  const checker = new SessionSignatureChecker(isSignedBy, 1);
  for (const event of [sessionOpening('s1'), sessionOpening('s2')]) checker.visit(event);
  expect(checker.visit(eventOf(RESULT))).toBeNull();
  expect(checker.visit(eventOf({ ...RESULT, session_id: 's2', payload: { signature: 'v1;' } }))).toBeNull();
  expect([checker.checkedCount, checker.uncheckedCount]).toEqual([0, 2]);
});
