import { generateKeyPairSync, type KeyObject, verify } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  CoordinatorHarness,
  forEachStore,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { publicKeyText, signCommand } from '../../client/sign-command.js';
import { SessionSignatureChecker } from '../../core/audit/session-signature-checker.js';
import { checkNewEvent } from '../../core/events/catalogue.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { bodyText, readSignature, type SignedCommand, signedText } from '../../core/signing.js';
import { verifySignatureSync } from '../audit/verify-signature.js';
import { sha256Hex } from '../runtime/identity.js';

const [A, B, C] = ['A-001-core', 'B-001-data', 'C-001-api'] as const;
const sessionKeys = generateKeyPairSync('ed25519');
const otherKeys = generateKeyPairSync('ed25519');
const WHO = { agent_id: 'alpha', session_id: 's1' };
/** Names the first grant of A in the commands of its holder. */
const HELD = { task_id: A, session_id: 's1', expected_generation: 1 };

async function prepareSigning(harness: CoordinatorHarness, require_signatures = true) {
  await harness.plan(planOf(A, B, C));
  const session = { session_id: 's1', user_id: 'alice', project_id: 'shop' };
  await harness.coordinator.sessions.open('acme', {
    ...session,
    public_key: publicKeyText(sessionKeys.publicKey),
  });
  await harness.coordinator.settings.putLimits('acme', { require_signatures });
  let count = 0;
  return (
    command: SignedCommand,
    body: object,
    key: KeyObject = sessionKeys.privateKey,
    atMs = harness.environment.clock.wallMs(),
  ) => {
    count += 1;
    const completeBody = { request_id: `r${count}`, ...body };
    const signature = signCommand({ ...PROJECT_KEY, command, body: completeBody }, key, new Date(atMs));
    return { ...completeBody, signature };
  };
}

/** Checks the signatures of events with the information in the log alone. */
function signaturesIn(events: readonly EventEnvelope[]) {
  const checker = new SessionSignatureChecker(verifySignatureSync);
  const faults = events.map((event) => checker.visit(event)).filter((fault) => fault !== null);
  return { faults, checked: checker.checkedCount, unchecked: checker.uncheckedCount };
}

forEachStore('signatures', (open) => {
  test('the signature of a reported event can be checked, and a report cannot contain a forged one', async () => {
    const harness = await open();
    const sign = await prepareSigning(harness);
    const payload = { iteration: 1, status: 'iterating' };
    const report = { event_type: 'iteration_completed', ...WHO, payload };
    const forged = { ...report, payload: { ...payload, signature: 'v1;', signed_text: 'x' } };
    const append = (body: object) =>
      harness.coordinator.holder.appendEvent(PROJECT_KEY, sign('append_event', body));
    expect(await append(report)).toMatchObject({ reason: 'APPENDED' });
    expect(await append(forged)).toMatchObject({ problem: 'INVALID_EVENT' });
    expect(signaturesIn(await harness.events())).toEqual({ faults: [], checked: 1, unchecked: 0 });
  });

  // req: AUD-009
  test('every signed command of a session is accepted, and its event stores the signature', async () => {
    const harness = await open();
    const { coordinator } = harness;
    const sign = await prepareSigning(harness);
    const claim = sign('claim_task', { task_id: A, ...WHO });
    expect(await coordinator.claims.claimTask(PROJECT_KEY, claim)).toMatchObject({ reason: 'GRANTED' });
    const renew = sign('renew_lease', HELD);
    expect(await coordinator.holder.renewLease(PROJECT_KEY, renew)).toMatchObject({ reason: 'RENEWED' });
    const suspend = sign('suspend_claim', HELD);
    expect(await coordinator.holder.suspendClaim(PROJECT_KEY, suspend)).toMatchObject({
      reason: 'SUSPENDED',
    });
    const resume = sign('resume_claim', HELD);
    expect(await coordinator.holder.resumeClaim(PROJECT_KEY, resume)).toMatchObject({ reason: 'RESUMED' });
    const { expected_generation: generation, ...handle } = HELD;
    const note = sign('note', { ...handle, generation, text: 'hello' });
    expect(await coordinator.holder.note(PROJECT_KEY, note)).toMatchObject({ reason: 'NOTED' });
    const submit = sign('submit_result', { ...handle, generation, result_data: { b: 1, a: 2 } });
    expect(await coordinator.holder.submitResult(PROJECT_KEY, submit)).toMatchObject({ accepted: true });
    const next = sign('next', WHO);
    expect(await coordinator.claims.next(PROJECT_KEY, next)).toMatchObject({
      reason: 'GRANTED',
      claim: { task_id: B },
    });
    const release = sign('release_claim', { ...HELD, task_id: B });
    expect(await coordinator.holder.releaseClaim(PROJECT_KEY, release)).toMatchObject({ reason: 'RELEASED' });

    const events = await harness.events();
    const signedEvents = events.filter(({ payload }) => payload.signature !== undefined);
    const commands = [claim, renew, suspend, resume, note, submit, next, release];
    expect(signedEvents.map(({ payload }) => payload.signature)).toEqual(
      commands.map(({ signature }) => signature),
    );
    for (const { position: _, ...event } of events) expect(checkNewEvent(event)).toEqual({ ok: true });
    expect(signaturesIn(events)).toEqual({ faults: [], checked: commands.length, unchecked: 0 });
    const claims = { ...PROJECT_KEY, command: 'claim_task', body: claim } as const;
    const { issued_at, value } = readSignature(String(signedEvents[0]?.payload.signature))!;
    const text = Buffer.from(signedText(claims, sha256Hex(bodyText(claims)), issued_at));
    expect(verify(null, text, sessionKeys.publicKey, Buffer.from(value, 'base64url'))).toBe(true);
  });

  test('each claim of a batch is signed separately, in partial and in all_or_nothing mode', async () => {
    const harness = await open();
    const sign = await prepareSigning(harness);
    const signedClaim = sign('claim_task', { task_id: A, ...WHO });
    const claims = [signedClaim, { task_id: B, ...WHO }];
    const both = unwrap(await harness.coordinator.claims.batchClaim(PROJECT_KEY, { claims }));
    expect(both.results).toMatchObject([{ reason: 'GRANTED' }, { problem: 'SIGNATURE_REQUIRED' }]);
    const claimsWithUnsigned = [
      sign('claim_task', { task_id: B, ...WHO }),
      { task_id: C, ...WHO, request_id: 'r9' },
    ];
    const mode = 'all_or_nothing';
    expect(
      await harness.coordinator.claims.batchClaim(PROJECT_KEY, { claims: claimsWithUnsigned, mode }),
    ).toMatchObject({
      problem: 'SIGNATURE_REQUIRED',
    });
    const signed = [claimsWithUnsigned[0], sign('claim_task', { task_id: C, ...WHO })];
    const all = unwrap(await harness.coordinator.claims.batchClaim(PROJECT_KEY, { claims: signed, mode }));
    expect(all.results).toMatchObject([{ reason: 'GRANTED' }, { reason: 'GRANTED' }]);
    expect(signaturesIn(await harness.events())).toEqual({ faults: [], checked: 3, unchecked: 0 });
  });

  test('a refused result is kept with the signature of its submitter', async () => {
    const harness = await open();
    const sign = await prepareSigning(harness);
    await harness.coordinator.claims.claimTask(PROJECT_KEY, sign('claim_task', { task_id: A, ...WHO }));
    await harness.coordinator.decisions.operate(PROJECT_KEY, A, 'force_release', {
      expected_generation: 1,
      reason: 'gone',
    });
    await harness.coordinator.claims.claimTask(PROJECT_KEY, sign('claim_task', { task_id: A, ...WHO }));
    const late = sign('submit_result', { task_id: A, session_id: 's1', generation: 1, result_data: 1 });
    expect(await harness.coordinator.holder.submitResult(PROJECT_KEY, late)).toMatchObject({
      reason: 'STALE_GENERATION',
    });
    const refused = (await harness.events()).find(({ event_type }) => event_type === 'RESULT_REJECTED');
    expect(refused?.payload.signature).toBe(late.signature);
  });

  test('a request that is signed again later is the same request', async () => {
    const harness = await open();
    const sign = await prepareSigning(harness);
    const body = { task_id: A, ...WHO, request_id: 'same' };
    const first = await harness.coordinator.claims.claimTask(PROJECT_KEY, sign('claim_task', body));
    const request = { ...WHO, request_id: 'next' };
    const second = await harness.coordinator.claims.next(PROJECT_KEY, sign('next', request));
    harness.advance(60);
    expect(await harness.coordinator.claims.claimTask(PROJECT_KEY, sign('claim_task', body))).toEqual(first);
    expect(await harness.coordinator.claims.next(PROJECT_KEY, sign('next', request))).toMatchObject({
      claim: unwrap(second).claim,
    });
  });
});

type Sign = Awaited<ReturnType<typeof prepareSigning>>;
const INVALID_COMMANDS: [string, string, (sign: Sign, harness: CoordinatorHarness) => object][] = [
  ['no signature', 'SIGNATURE_REQUIRED', () => ({ ...HELD, request_id: 'r' })],
  [
    'a session without a key',
    'SIGNATURE_REQUIRED',
    (sign) => sign('renew_lease', { ...HELD, session_id: 's2' }),
  ],
  ['another key', 'SIGNATURE_INVALID', (sign) => sign('renew_lease', HELD, otherKeys.privateKey)],
  ['another command', 'SIGNATURE_INVALID', (sign) => sign('release_claim', HELD)],
  [
    'a changed body',
    'SIGNATURE_INVALID',
    (sign) => ({ ...sign('renew_lease', HELD), lease_duration_seconds: 90 }),
  ],
  ['a changed subject', 'SIGNATURE_INVALID', (sign) => ({ ...sign('renew_lease', HELD), task_id: B })],
  ['a changed request', 'SIGNATURE_INVALID', (sign) => ({ ...sign('renew_lease', HELD), request_id: 'r0' })],
  ['no request_id', 'SIGNATURE_INVALID', (sign) => sign('renew_lease', { ...HELD, request_id: undefined })],
  ['a malformed value', 'SIGNATURE_INVALID', (sign) => ({ ...sign('renew_lease', HELD), signature: 'me' })],
  [
    'a signature that is too old',
    'SIGNATURE_INVALID',
    (sign, harness) =>
      sign('renew_lease', HELD, sessionKeys.privateKey, harness.environment.clock.wallMs() - 300_001),
  ],
  [
    'a signature from the future',
    'SIGNATURE_INVALID',
    (sign, harness) =>
      sign('renew_lease', HELD, sessionKeys.privateKey, harness.environment.clock.wallMs() + 300_001),
  ],
];
test.each(INVALID_COMMANDS)('a command with %s is refused, and nothing is written', async (_, code, make) => {
  const harness = await CoordinatorHarness.open('memory');
  const sign = await prepareSigning(harness);
  await harness.coordinator.claims.claimTask(PROJECT_KEY, sign('claim_task', { task_id: A, ...WHO }));
  const position = await harness.position();
  expect(await harness.coordinator.holder.renewLease(PROJECT_KEY, make(sign, harness))).toMatchObject({
    problem: code,
  });
  expect(await harness.position()).toBe(position);
});

test('a signature for one project is invalid in another', async () => {
  const harness = await CoordinatorHarness.open('memory');
  const sign = await prepareSigning(harness);
  const elsewhere = { tenant_id: 'acme', project_id: 'bank' };
  await harness.coordinator.plans.put(elsewhere, planOf(A));
  const public_key = publicKeyText(sessionKeys.publicKey);
  const session = { session_id: 's1', user_id: 'alice', project_id: 'bank', public_key };
  await harness.coordinator.sessions.open('acme', session);
  const claim = sign('claim_task', { task_id: A, ...WHO });
  expect(await harness.coordinator.claims.claimTask(elsewhere, claim)).toMatchObject({
    problem: 'SIGNATURE_INVALID',
  });
});

test('a signature is optional if the tenant does not require one, but must be valid', async () => {
  const harness = await CoordinatorHarness.open('memory');
  const sign = await prepareSigning(harness, false);
  const signed = sign('claim_task', { task_id: A, ...WHO });
  expect(
    await harness.coordinator.claims.claimTask(PROJECT_KEY, { ...signed, agent_id: 'beta' }),
  ).toMatchObject({
    problem: 'SIGNATURE_INVALID',
  });
  expect(await harness.coordinator.claims.claimTask(PROJECT_KEY, signed)).toMatchObject({
    reason: 'GRANTED',
  });
  expect(await harness.coordinator.claims.claimTask(PROJECT_KEY, { task_id: B, ...WHO })).toMatchObject({
    reason: 'GRANTED',
  });
});

test('a session opened through one coordinator can sign commands to another coordinator', async () => {
  const harness = await CoordinatorHarness.open('memory');
  const second = await harness.openAnother();
  await second.plans.get(PROJECT_KEY);
  const sign = await prepareSigning(harness);
  const claim = sign('claim_task', { task_id: A, ...WHO });
  expect(await second.claims.claimTask(PROJECT_KEY, claim)).toMatchObject({ reason: 'GRANTED' });
});

test('a session keeps the key it was opened with, which must be an Ed25519 key', async () => {
  const harness = await CoordinatorHarness.open('memory');
  await prepareSigning(harness);
  const session = { session_id: 's1', user_id: 'mallory', project_id: 'shop' };
  const again = { ...session, public_key: publicKeyText(otherKeys.publicKey) };
  expect(await harness.coordinator.sessions.open('acme', again)).toMatchObject({
    reason: 'PUBLIC_KEY_CONFLICT',
    session: { public_key: publicKeyText(sessionKeys.publicKey) },
  });
  expect(await harness.coordinator.sessions.open('acme', { ...session, public_key: 'short' })).toMatchObject({
    problem: 'INVALID_REQUEST',
  });
});
