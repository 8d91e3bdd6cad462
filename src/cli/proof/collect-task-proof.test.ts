import { expect, it } from 'vitest';
import { personCaller } from '../../../test/support/agent.js';
import { PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';
import { evaluatorReport, FILES } from '../../../test/support/workspace-files.js';
import { checkProof } from '../../core/audit/proof.js';
import { assembleTaskProof, type TaskProof } from '../../core/audit/task-proof/task-proof.js';
import { newSigner, testSha256, verifyEd25519 } from '../../core/audit/testing/primitives.js';
import { A, B, C, KEY, linesOf, rolesIn, TaskProofHarness, verdictOf } from './testing/proof-harness.js';

const EDGE = 'REQ-F-A#design_code';
const SPEC = 'REQ-F-A#intent_requirements';
const DIGEST = '[0-9a-f]{64}';
const payloadsMissing = ({ events }: TaskProof): string[] =>
  events.filter(({ proof }) => proof.payload === undefined).map(({ role }) => role);

it('a proof shows a takeover, and the late result that was refused', async () => {
  const fleet = await TaskProofHarness.open();
  await fleet.takeOver(A);
  const proof = await fleet.collectProof(A);
  expect(rolesIn(proof)).toEqual([
    'session',
    'earlier_grant',
    'session',
    'claim_end',
    'grant',
    'result',
    'refused_result',
  ]);
  const lines = linesOf(proof);
  expect(lines[1]).toMatch(
    /^generation 1 was granted to alpha in session s1 until 2026-01-04T06:01:00.000Z; not signed\.$/,
  );
  expect(lines[3]).toBe('the lease of generation 1 expired at 2026-01-04T06:01:00.000Z.');
  expect(lines[5]).toMatch(
    new RegExp(
      `^the result of generation 2, submitted by beta in session s2, was accepted with SHA-256 ${DIGEST}, 18 bytes; not signed`,
    ),
  );
  expect(lines[6]).toMatch(
    /^alpha in session s1 submitted a result of generation 1 while 2 was current: refused with STALE_GENERATION and parked/,
  );
  expect(proof.summary.at(-1)).toContain(`the audit key ${KEY.key_id} signed at`);
  // Over HTTP, a proof has no payload of more than 1 KiB.
  expect(payloadsMissing(proof)).toEqual([]);
  expect(verdictOf(proof)).toBe('ok');
  expect(verdictOf(proof, [KEY.key_id])).toBe('ok');
  expect(verdictOf(proof, [newSigner().key_id])).toBe('UNTRUSTED_KEY');
  for (const { proof: inclusion } of proof.events)
    expect(checkProof(inclusion, { hash: testSha256, verify: verifyEd25519 })).toMatchObject({ ok: true });
});

it('a proof shows a parked result and its adoption', async () => {
  const fleet = await TaskProofHarness.open();
  await fleet.adoptParked(A);
  const proof = await fleet.collectProof(A);
  const roles = rolesIn(proof).filter((role) => role !== 'session');
  expect(roles).toEqual([
    'grant_of_parked_result',
    'claim_end',
    'earlier_grant',
    'parked_result',
    'claim_end',
    'grant',
    'result',
  ]);
  expect(linesOf(proof).at(-1)).toMatch(
    /^the parked result of generation 1, submitted by alpha in session s1, was adopted by \S+ \("it is good\\nas it is"\) as generation 3 with SHA-256/,
  );
  expect(verdictOf(proof)).toBe('ok');
});

it('a proof shows an earlier result, and why the task was reopened', async () => {
  const fleet = await TaskProofHarness.open();
  await fleet.complete(A);
  const reset = { expected_generation: 1, reason: 'wrong' };
  unwrap(await fleet.coordinator.decisions.operate(PROJECT_KEY, A, 'reset', reset));
  const reopened = fleet.collectProof(A);
  await expect(reopened).rejects.toThrow('A-001-schema is open and has no accepted result');
  await fleet.complete(A, 'beta', 's2');
  const proof = await fleet.collectProof(A);
  const roles = rolesIn(proof).filter((role) => role !== 'session');
  expect(roles).toEqual(['earlier_grant', 'earlier_result', 'reopening', 'grant', 'result']);
  expect(linesOf(proof)[2]).toContain('earlier, the result of generation 1');
  expect(linesOf(proof)[3]).toBe('reopened by open ("wrong").');
  expect(verdictOf(proof)).toBe('ok');
});

it('a proof counts what is missing, so that no grant can be left out silently', async () => {
  const fleet = await TaskProofHarness.open();
  await fleet.takeOver(A);
  const { events } = await fleet.collectProof(A);
  const shown = events.filter(({ role }) => role !== 'earlier_grant').map(({ proof }) => proof);
  const partial = assembleTaskProof(A, shown, testSha256, () => []);
  expect(partial && verdictOf(partial)).toBe('ok');
  expect(partial?.summary.slice(-3, -1)).toEqual([
    'Not in this file: the grant of generation 1.',
    'Not in this file: 1 of the 4 changes up to the result, such as renewals of a lease.',
  ]);
});

it('a proof has the accepting events of the inputs, and says which are missing', async () => {
  const fleet = await TaskProofHarness.open();
  await fleet.complete(A);
  await fleet.complete(B, 'beta', 's2');
  const proof = await fleet.collectProof(B);
  expect(rolesIn(proof)).toContain('input');
  expect(linesOf(proof).join()).toContain(`input ${A}: the result of generation 1, submitted by alpha`);
  const without = { ...proof, events: proof.events.filter(({ role }) => role !== 'input') };
  expect(verdictOf(without)).toBe('SUMMARY_MISMATCH');
});

it('a proof has the inputs of a grant that has only their digest', async () => {
  const fleet = await TaskProofHarness.open();
  const inputs = Array.from({ length: 5 }, (_, at) => `C-00${at + 1}-a-part-with-a-long-name`);
  await fleet.harness.plan(planOf(...inputs, { id: 'D-001-whole', depends_on: inputs }));
  for (const input of inputs) await fleet.complete(input);
  await fleet.complete('D-001-whole', 'beta', 's2');
  const proof = await fleet.collectProof('D-001-whole');
  expect(rolesIn(proof).filter((role) => role === 'input')).toHaveLength(5);
  expect(proof.summary.join()).not.toContain('Not in this file');
  const without = { ...proof, events: proof.events.filter(({ role }, at) => role !== 'input' || at > 3) };
  expect(verdictOf(without)).toBe('ROLE_MISMATCH');

  await fleet.harness.plan(planOf(...inputs, { id: 'D-001-whole', depends_on: [] }));
  const replanned = await fleet.collectProof('D-001-whole');
  expect(rolesIn(replanned)).not.toContain('input');
  expect(replanned.summary.join()).toContain('Not in this file: the inputs.');
  expect(verdictOf(replanned)).toBe('ok');
});

it('a proof has the signatures of a session whose bodies were kept, and the check verifies them', async () => {
  const fleet = await TaskProofHarness.open();
  const sent = await fleet.completeSigned(A);
  const proof = await fleet.collectProof(A, sent);
  expect(proof.signatures.map(({ command }) => command)).toEqual(['claim_task', 'submit_result']);
  expect(
    linesOf(proof).filter((line) => /; signed at \S+ with the session's key \S{43}\.$/.test(line)),
  ).toHaveLength(2);
  expect(verdictOf(proof)).toBe('ok');

  const [claim, submit] = proof.signatures as [TaskProof['signatures'][0], TaskProof['signatures'][0]];
  const withBody = (body: string) => verdictOf({ ...proof, signatures: [claim, { ...submit, body }] });
  expect(withBody(submit.body.replace('"ok":1', '"ok":2'))).toBe('BAD_SESSION_SIGNATURE');
  expect(withBody(submit.body.replace('{', '{ '))).toBe('BAD_SESSION_SIGNATURE');
  expect(withBody(claim.body)).toBe('BAD_SESSION_SIGNATURE');
  expect(verdictOf({ ...proof, signatures: [claim] })).toBe('SUMMARY_MISMATCH');
});

it('a proof does not use the signature of one command for another', async () => {
  const fleet = await TaskProofHarness.open();
  const { sign, sent } = await fleet.openSigning('signed');
  const claim = (task_id: string) =>
    sign('claim_task', { task_id, agent_id: 'alpha', session_id: 'signed', request_id: 'r' });
  unwrap(await fleet.coordinator.claims.claimTask(PROJECT_KEY, claim(A)));
  await fleet.harness.coordinator.decisions.operate(PROJECT_KEY, A, 'force_release', {
    expected_generation: 1,
    reason: 'gone',
  });
  await fleet.complete(A, 'beta', 's2');
  const proof = await fleet.collectProof(A, sent);
  expect(proof.signatures).toHaveLength(1);
  // The key and the signature are valid, but belong to another event.
  const other = claim(C);
  const { signature: _, ...body } = other;
  const moved = await fleet.collectProof(A, [body]);
  expect(moved.signatures).toEqual([]);
  expect(linesOf(moved).join()).toContain('the body of the command is not in this file');
});

it('a proof says what it cannot verify without the bodies', async () => {
  const fleet = await TaskProofHarness.open();
  await fleet.completeSigned(A);
  const proof = await fleet.collectProof(A);
  expect(proof.signatures).toEqual([]);
  expect(
    linesOf(proof).filter((line) => line.includes('the body of the command is not in this file')),
  ).toHaveLength(2);
  expect(verdictOf(proof)).toBe('ok');
});

async function openConfigured() {
  const fleet = await TaskProofHarness.open();
  unwrap(await fleet.coordinator.settings.configure(PROJECT_KEY, { files: FILES }));
  return { fleet, alpha: fleet.agent('alpha', 's1') };
}

it('a proof shows how an edge converged', async () => {
  const { fleet, alpha } = await openConfigured();
  await alpha.claim(EDGE, { agent_role: 'architect' });
  await alpha.renew(EDGE);
  await alpha.submit(EDGE, { made: 'it' }, evaluatorReport());
  const proof = await fleet.collectProof(EDGE);
  expect(proof.summary[0]).toBe(`Edge ${EDGE} of acme/shop: how its result came about.`);
  expect(rolesIn(proof)).toEqual(['session', 'grant', 'result']);
  expect(linesOf(proof)[1]).toContain('granted to alpha in session s1 as architect');
  expect(linesOf(proof).at(-1)).toBe(
    'Not in this file: 1 of the 3 changes up to the result, such as renewals of a lease.',
  );
  expect(verdictOf(proof)).toBe('ok');
});

it('a proof shows how a person approved an edge', async () => {
  const { fleet, alpha } = await openConfigured();
  await alpha.claim(SPEC, { agent_role: 'architect' });
  const { evaluators } = evaluatorReport({ complete: 'pass', wanted: 'pass' });
  await alpha.submit(SPEC, 'v1', { evaluators, iteration: 2 });
  const candidate_sha256 = Buffer.from(testSha256(Buffer.from('"v1"'))).toString('hex');
  const review = { task_id: SPEC, generation: 1, iteration: 2, decision: 'APPROVED', candidate_sha256 };
  unwrap(await fleet.coordinator.decisions.recordReview(PROJECT_KEY, review, personCaller('rita')));
  const proof = await fleet.collectProof(SPEC);
  expect(rolesIn(proof)).toEqual(['session', 'grant', 'candidate', 'review', 'result']);
  const [, , candidate, approval, result] = linesOf(proof);
  expect(candidate).toContain('for review ("human_review_required")');
  expect(approval).toBe(
    `rita decided APPROVED on the result of generation 1 with SHA-256 ${candidate_sha256}.`,
  );
  expect(result).toMatch(/was accepted with SHA-256 \S+ 4 bytes; its submission is above\.$/);
  expect(verdictOf(proof)).toBe('ok');
});

it('a proof says which payloads retention has redacted', async () => {
  const fleet = await TaskProofHarness.open();
  await fleet.takeOver(A);
  await fleet.coordinator.audit.checkpoint();
  fleet.harness.advance(4000 * 24 * 3600);
  expect(await fleet.coordinator.redactHistory()).toBeGreaterThan(0);
  const proof = await fleet.collectProof(A);
  expect(payloadsMissing(proof)).toEqual(['refused_result']);
  expect(linesOf(proof).at(-1)).toBe(
    'RESULT_REJECTED (refused_result) of generation 1, alpha in session s1; its payload is missing, as after redaction.',
  );
  expect(verdictOf(proof)).toBe('ok');
});

it('a proof has at most 200 events, and says that there can be more', async () => {
  const fleet = await TaskProofHarness.open();
  const alpha = fleet.agent('alpha', 's1');
  for (let at = 0; at < 99; at += 1) {
    await alpha.claim(A);
    await alpha.release(A);
  }
  await fleet.complete(A);
  const proof = await fleet.collectProof(A);
  expect(proof.events).toHaveLength(200);
  expect(rolesIn(proof)).toEqual(expect.arrayContaining(['session', 'grant', 'result']));
  expect(proof.summary.slice(-2)[0]).toBe(
    'This file has 200 events, as many as it may have: there can be more.',
  );
  expect(verdictOf(proof)).toBe('ok');
});
