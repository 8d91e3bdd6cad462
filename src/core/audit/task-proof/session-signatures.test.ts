import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../canonical-json.js';
import { bodyText, type SignedCommand, signedText, writeSignature } from '../../signing.js';
import { newSigner, testSha256, verifyEd25519 } from '../testing/primitives.js';
import { type ProofEvent, toProofEvent } from './proof-event.js';
import { type SignedCommandBody, signedBodyFault } from './session-signatures.js';

const PROJECT = { tenant_id: 'acme', project_id: 'shop' };
const AT = '2026-01-04T06:00:00.000Z';
const KEY = newSigner('session');
const hex = (text: string) => Buffer.from(testSha256(Buffer.from(text))).toString('hex');

function signatureOf(command: SignedCommand, body: Record<string, unknown>, signer = KEY): string {
  const toSign = { ...PROJECT, command, body };
  return writeSignature(AT, signer.sign(signedText(toSign, hex(bodyText(toSign)), AT)));
}

const proofEvent = (fields: object, payload: object): ProofEvent => {
  const event = toProofEvent(
    { position: 2, timestamp: AT, agent_id: 'alpha', session_id: 's1', ...fields },
    payload,
  );
  if (event === null) throw new Error('not an event');
  return event;
};
const opening = proofEvent(
  { event_type: 'SESSION_OPENED', subject: '~session/s1', seq: 1, position: 1 },
  { record: { public_key: KEY.public_key } },
);

const WHO = { session_id: 's1', request_id: 'r1' };
const CASES = {
  claim_task: {
    body: { task_id: 'A-001-a', agent_id: 'alpha', ...WHO },
    fields: { event_type: 'CLAIM_ACQUIRED', subject: 'A-001-a', seq: 1, generation: 1, request_id: 'r1' },
    payload: {},
  },
  next: {
    body: { agent_id: 'alpha', ...WHO },
    fields: { event_type: 'CLAIM_ACQUIRED', subject: 'A-001-a', seq: 1, generation: 1, request_id: 'r1' },
    payload: {},
  },
  release_claim: {
    body: { feature_id: 'REQ-F-A', edge: 'design→code', expected_generation: 3, ...WHO },
    fields: {
      event_type: 'edge_released',
      subject: 'REQ-F-A#design_code',
      seq: 9,
      generation: 3,
      request_id: 'r1',
    },
    payload: { reason: 'VOLUNTARY' },
  },
  submit_result: {
    body: { task_id: 'A-001-a', generation: 1, claim_id: 'secret', result_data: { b: 1, a: 2 }, ...WHO },
    fields: { event_type: 'RESULT_REJECTED', subject: 'A-001-a', generation: 1, request_id: 'r1' },
    payload: { submitted_generation: 1, result_sha256: hex('{"a":2,"b":1}') },
  },
} as const;

/** The fault of a valid session signature; `change` makes the event, or the stored body, differ from the signed command. */
function faultOf(
  command: SignedCommandBody['command'],
  change: { fields?: object; payload?: object; body?: object; events?: ProofEvent[] } = {},
): string | null {
  const { body, fields, payload } = CASES[command];
  const signature = signatureOf(command, body);
  const signed = proofEvent({ ...fields, ...change.fields }, { ...payload, ...change.payload, signature });
  const text = canonicalJson({ ...body, ...change.body });
  const events = change.events ?? [opening];
  return signedBodyFault(
    { position: 2, command, body: text },
    { project: PROJECT, events: [...events, signed] },
    {
      hash: testSha256,
      verify: verifyEd25519,
    },
  );
}

const commands = Object.keys(CASES) as SignedCommandBody['command'][];
const OTHER_COMMAND_FAULT = 'the session signed this command, but the event records another one';

describe.each(commands)('a signature of %s', (command) => {
  it('matches its event', () => {
    expect(faultOf(command)).toBeNull();
  });

  it('does not match an event of another request or, if it is of a claim, of another agent', () => {
    expect(faultOf(command, { fields: { request_id: 'r2' } })).toBe(OTHER_COMMAND_FAULT);
    const isClaim = command === 'claim_task' || command === 'next';
    expect(faultOf(command, { fields: { agent_id: 'beta' } })).toBe(isClaim ? OTHER_COMMAND_FAULT : null);
  });

  it('does not fit another body, session or key', () => {
    expect(faultOf(command, { body: { more: 1 } })).toContain('did not sign');
    expect(faultOf(command, { fields: { session_id: 's2' } })).toContain('shows no key of the session');
    const otherKey = proofEvent(
      { event_type: 'SESSION_OPENED', subject: '~session/s1', seq: 1 },
      { record: { public_key: newSigner().public_key } },
    );
    expect(faultOf(command, { events: [otherKey] })).not.toBeNull();
    expect(faultOf(command, { events: [] })).toContain('shows no key of the session');
  });
});

it('a signature does not match an event of another task, generation, result or kind', () => {
  expect(faultOf('claim_task', { fields: { subject: 'A-002-b' } })).toBe(OTHER_COMMAND_FAULT);
  expect(faultOf('release_claim', { fields: { generation: 4 } })).toBe(OTHER_COMMAND_FAULT);
  expect(faultOf('release_claim', { fields: { subject: 'REQ-F-A#code_unit_tests' } })).toBe(
    OTHER_COMMAND_FAULT,
  );
  expect(faultOf('submit_result', { payload: { submitted_generation: 2 } })).toBe(OTHER_COMMAND_FAULT);
  expect(faultOf('submit_result', { payload: { result_sha256: hex('other') } })).toBe(OTHER_COMMAND_FAULT);
  expect(faultOf('claim_task', { fields: { event_type: 'RESULT_SUBMITTED' } })).toBe(
    'claim_task does not cause a RESULT_SUBMITTED',
  );
});
