import { expect, test } from 'vitest';
import { HarnessAgent, personCaller } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, unwrap } from '../../../test/support/coordinator-harness.js';
import {
  blobsOf,
  reportedOutcome,
  SigningRunner,
  uploadCandidate,
} from '../../../test/support/signing-runner.js';
import { evaluatorReport, FILES } from '../../../test/support/workspace-files.js';
import type { CheckOutcome } from '../../core/engine/check-outcome.js';
import type { EvidenceStatement } from '../../core/engine/evidence.js';
import type { Coordinator } from '../coordinator.js';

const EDGE = 'REQ-F-A#design_code';
const OTHER = 'REQ-F-B#design_code';
const ROLES = 'roles:\n  architect: { converge_edges: [design_code] }\n';
const NEW_FILE = { 'src/cart.ts': 'export const cart = [];\n' };
const compilesOutcome = (fields: Partial<CheckOutcome> = {}) => reportedOutcome('compiles', 'make', fields);

forEachStore('under the policy `evidence: verified`, an edge', (open, store) => {
  async function openVerified({ isEnrolled = true } = {}) {
    const harness = await open();
    const { coordinator } = harness;
    unwrap(
      await coordinator.settings.configure(PROJECT_KEY, { files: { ...FILES, 'agent_roles.yml': ROLES } }),
    );
    unwrap(await coordinator.settings.putPolicy(PROJECT_KEY, { evidence: 'verified' }));
    const runner = new SigningRunner();
    if (isEnrolled)
      unwrap(await coordinator.evidence.enrolRunner(PROJECT_KEY, { public_key: runner.public_key }));
    const agent = new HarnessAgent(harness, 'alpha', 's1');
    await agent.claim(EDGE, { agent_role: 'architect' });
    const record = (statement: EvidenceStatement, signer = runner, to: Coordinator = coordinator) =>
      to.evidence.record(PROJECT_KEY, { evidence: signer.signed(statement) });
    const propose = async (
      files: Readonly<Record<string, string>> = NEW_FILE,
      existing: readonly string[] = [],
      edge = EDGE,
      by = agent,
    ) => {
      const { manifest, sha256 } = await uploadCandidate(blobsOf(coordinator), files, existing);
      const proposed = unwrap(
        await coordinator.evidence.propose(PROJECT_KEY, {
          ...by.expectedHandle(edge),
          candidate_sha256: sha256,
        }),
      );
      expect(proposed).toMatchObject({ reason: 'PROPOSED' });
      const base_version = proposed.success ? proposed.base_version : -1;
      const { generation } = by.handle(edge);
      const signedStatement = (checks: CheckOutcome[] = [compilesOutcome()], signer = runner) =>
        signer.statement({ task_id: edge, generation, candidate_sha256: sha256, base_version, checks });
      return { manifest, sha256, signedStatement };
    };
    const submit = (result: unknown, edge = EDGE, by = agent) => by.submit(edge, result, evaluatorReport());
    const submissionRefusal = async (result: unknown) => {
      const reply = await submit(result);
      expect(reply).toMatchObject({ accepted: false, reason: 'NOT_CONVERGED' });
      return reply.failing;
    };
    return { harness, coordinator, runner, agent, record, propose, submit, submissionRefusal };
  }

  test('converges by the evidence of an enrolled runner about exactly this candidate', async () => {
    const { propose, record, submit, harness, coordinator } = await openVerified();
    const { manifest, signedStatement } = await propose();
    expect(await record(signedStatement())).toMatchObject({ success: true, reason: 'RECORDED' });
    expect(await record(signedStatement())).toMatchObject({ success: true, reason: 'RECORDED' });
    const recorded = (await harness.events()).filter(({ event_type }) => event_type === 'EVIDENCE_RECORDED');
    expect(recorded).toHaveLength(1);
    const listed = unwrap(await coordinator.evidence.listCandidates(PROJECT_KEY));
    expect(listed.candidates).toMatchObject([{ task_id: EDGE, checks: [{ name: 'compiles' }] }]);
    expect(listed.candidates[0]?.evidence_of).toHaveLength(1);
    expect(await submit(manifest)).toMatchObject({ accepted: true });
    expect(unwrap(await coordinator.evidence.listCandidates(PROJECT_KEY)).candidates).toEqual([]);
  });

  test('does not converge on the reports of its agent alone, and says that no runner is enrolled', async () => {
    const { propose, submissionRefusal } = await openVerified({ isEnrolled: false });
    const { manifest } = await propose();
    expect(await submissionRefusal(manifest)).toEqual([
      { name: 'compiles', says: expect.stringContaining('no runner is enrolled') },
    ]);
  });

  test('does not converge before a runner has run its checks', async () => {
    const { propose, submissionRefusal } = await openVerified();
    const { manifest } = await propose();
    expect(await submissionRefusal(manifest)).toEqual([
      {
        name: 'compiles',
        says: expect.stringMatching(/^Proposed as [0-9a-f]{12}; waiting for a runner \(gen runner run\)\.$/),
      },
    ]);
  });

  test('does not converge if the check failed, although its agent reports that it passed', async () => {
    const { propose, record, submissionRefusal } = await openVerified();
    const { manifest, signedStatement } = await propose();
    await record(signedStatement([compilesOutcome({ result: 'fail', says: '3 errors', exit_code: 2 })]));
    expect(await submissionRefusal(manifest)).toEqual([
      { name: 'compiles', says: 'A runner ran the check: fail. 3 errors' },
    ]);
  });

  test('does not accept evidence that is signed with a key of the agent', async () => {
    const { propose, record, submissionRefusal, runner } = await openVerified();
    const { manifest, signedStatement } = await propose();
    const agentRunner = new SigningRunner();
    expect(await record(signedStatement([compilesOutcome()], agentRunner), agentRunner)).toMatchObject({
      reason: 'UNKNOWN_RUNNER',
    });
    expect(await record(signedStatement([compilesOutcome()], runner), agentRunner)).toMatchObject({
      problem: 'SIGNATURE_INVALID',
    });
    expect(await submissionRefusal(manifest)).toMatchObject([{ name: 'compiles' }]);
  });

  test('does not accept evidence of another tree or another project', async () => {
    const { propose, record, submissionRefusal } = await openVerified();
    const first = await propose();
    const firstStatement = first.signedStatement();
    await record(firstStatement);
    const second = await propose({ 'src/cart.ts': 'export const cart = null;\n' });
    expect(await record(firstStatement)).toMatchObject({ reason: 'NO_CANDIDATE' });
    expect(await submissionRefusal(second.manifest)).toMatchObject([{ name: 'compiles' }]);
    await record(second.signedStatement());
    expect(await submissionRefusal(first.manifest)).toEqual([
      { name: 'compiles', says: expect.stringContaining('The evidence is of the candidate') },
    ]);
    expect(await record({ ...second.signedStatement(), project_id: 'bank' })).toMatchObject({
      problem: 'INVALID_REQUEST',
    });
  });

  test('does not accept evidence of another generation', async () => {
    const { propose, record, submissionRefusal, agent } = await openVerified();
    const { manifest, signedStatement } = await propose();
    await record(signedStatement());
    await agent.release(EDGE);
    await agent.claim(EDGE, { agent_role: 'architect' });
    expect(await submissionRefusal(manifest)).toEqual([
      { name: 'compiles', says: expect.stringContaining('The evidence is of generation 1') },
    ]);
    expect(await record(signedStatement())).toMatchObject({ reason: 'NO_CANDIDATE' });
    const again = await propose();
    expect(await record({ ...again.signedStatement(), generation: 1 })).toMatchObject({
      reason: 'NO_CANDIDATE',
    });
  });

  test('does not converge by evidence of another command', async () => {
    const { propose, record, submissionRefusal } = await openVerified();
    const { manifest, signedStatement } = await propose();
    await record(signedStatement([reportedOutcome('compiles', 'true')]));
    expect(await submissionRefusal(manifest)).toEqual([
      { name: 'compiles', says: expect.stringContaining('another command') },
    ]);
  });

  test('does not converge after another result was accepted: the base has moved', async () => {
    const { harness, propose, record, submissionRefusal, submit } = await openVerified();
    const beta = new HarnessAgent(harness, 'beta', 's2');
    await beta.claim(OTHER, { agent_role: 'architect' });
    const mine = await propose();
    const theirs = await propose({ 'src/bill.ts': 'x' }, [], OTHER, beta);
    await record(mine.signedStatement());
    await record(theirs.signedStatement());
    expect(await submit(theirs.manifest, OTHER, beta)).toMatchObject({ accepted: true });
    expect(await submissionRefusal(mine.manifest)).toEqual([
      { name: 'compiles', says: expect.stringContaining('The base has moved') },
    ]);
    expect(await record(mine.signedStatement())).toMatchObject({ reason: 'BASE_MOVED' });
    const again = await propose();
    expect(await record(again.signedStatement())).toMatchObject({ reason: 'RECORDED' });
    expect(await submit(again.manifest)).toMatchObject({ accepted: true });
  });

  test('does not converge by the evidence of a runner that was revoked since', async () => {
    const { propose, record, submissionRefusal, coordinator, runner } = await openVerified();
    const { manifest, signedStatement } = await propose();
    await record(signedStatement());
    unwrap(await coordinator.evidence.revokeRunner(PROJECT_KEY, runner.runner_id));
    expect(await submissionRefusal(manifest)).toEqual([
      { name: 'compiles', says: expect.stringContaining('which is revoked') },
    ]);
    expect(await record(signedStatement())).toMatchObject({ reason: 'RUNNER_REVOKED' });
    expect(
      await coordinator.evidence.enrolRunner(PROJECT_KEY, { public_key: runner.public_key }),
    ).toMatchObject({
      problem: 'INVALID_REQUEST',
    });
  });

  test.each([
    ['an existing test', { 'src/cart.test.ts': 'x' }, ['src/cart.test.ts']],
    ['the file that its check calls', { Makefile: 'all:\n' }, ['Makefile']],
    ['a new configuration of a test tool', { 'vitest.config.ts': 'x' }, []],
  ])('waits for a person if it changes %s', async (_, files, existing) => {
    const { propose, record, submit, submissionRefusal, coordinator } = await openVerified();
    const { manifest, signedStatement, sha256 } = await propose(files, existing);
    // Without evidence no person is asked.
    await submissionRefusal(manifest);
    await record(signedStatement());
    expect(await submit(manifest)).toMatchObject({
      reason: 'ESCALATED',
      next: expect.stringContaining(`the result changes checks or tests: ${Object.keys(files)[0]}`),
    });
    const review = { task_id: EDGE, generation: 1, iteration: 1, candidate_sha256: sha256 };
    await coordinator.decisions.recordReview(
      PROJECT_KEY,
      { ...review, decision: 'APPROVED' },
      personCaller('rita'),
    );
    expect(await submit(manifest)).toMatchObject({ accepted: true });
  });

  test('is not accepted by an approval whose evidence is void because the base has moved', async () => {
    const { harness, propose, record, submit, coordinator } = await openVerified();
    const files = { 'vitest.config.ts': 'x' };
    const { manifest, signedStatement, sha256 } = await propose(files);
    await record(signedStatement());
    expect(await submit(manifest)).toMatchObject({ reason: 'ESCALATED' });
    const beta = new HarnessAgent(harness, 'beta', 's2');
    await beta.claim(OTHER, { agent_role: 'architect' });
    const theirs = await propose({ 'src/bill.ts': 'x' }, [], OTHER, beta);
    await record(theirs.signedStatement());
    expect(await submit(theirs.manifest, OTHER, beta)).toMatchObject({ accepted: true });
    const review = { task_id: EDGE, generation: 1, iteration: 1, candidate_sha256: sha256 };
    const approve = () =>
      coordinator.decisions.recordReview(
        PROJECT_KEY,
        { ...review, decision: 'APPROVED' as const },
        personCaller('rita'),
      );
    expect(await approve()).toMatchObject({
      reason: 'NOT_CONVERGED',
      next: expect.stringContaining('The base has moved'),
    });
    const [waiting] = unwrap(await coordinator.evidence.listCandidates(PROJECT_KEY)).candidates;
    expect(waiting).toMatchObject({ task_id: EDGE, evidence_of: [] });
    const again = { ...signedStatement(), base_version: waiting?.base_version ?? 0 };
    expect(await record(again)).toMatchObject({ reason: 'RECORDED' });
    expect(await approve()).toMatchObject({ success: true, reason: 'APPROVED' });
    expect(await submit(manifest)).toMatchObject({ accepted: true });
  });

  test('converges with a new test that its agent adds, without a person', async () => {
    const { propose, record, submit } = await openVerified();
    const { manifest, signedStatement } = await propose({ ...NEW_FILE, 'src/cart.test.ts': 'x' });
    await record(signedStatement());
    expect(await submit(manifest)).toMatchObject({ accepted: true });
  });

  test('accepts a candidate only from its holder, and only if it is an uploaded manifest', async () => {
    const { coordinator, agent, propose } = await openVerified();
    const { sha256 } = await propose();
    const handle = { ...agent.expectedHandle(EDGE), candidate_sha256: sha256 };
    const proposeAs = (fields: object) => coordinator.evidence.propose(PROJECT_KEY, { ...handle, ...fields });
    expect(await proposeAs({ session_id: 's2' })).toMatchObject({ reason: 'SESSION_MISMATCH' });
    expect(await proposeAs({ claim_id: 'clm_x' })).toMatchObject({ reason: 'SESSION_MISMATCH' });
    expect(await proposeAs({ expected_generation: 7 })).toMatchObject({ reason: 'GENERATION_MISMATCH' });
    expect(await proposeAs({ candidate_sha256: 'a'.repeat(64) })).toMatchObject({ problem: 'BLOB_MISSING' });
    expect(await proposeAs({ task_id: 'A-001-core' })).toMatchObject({ problem: 'INVALID_REQUEST' });
  });

  test.runIf(store === 'memory')(
    'is decided with the evidence that another coordinator has recorded',
    async () => {
      const { harness, propose, record, submit } = await openVerified();
      const { manifest, signedStatement } = await propose();
      const second = await harness.openAnother();
      expect(await record(signedStatement(), undefined, second)).toMatchObject({ reason: 'RECORDED' });
      expect(await submit(manifest)).toMatchObject({ accepted: true });
    },
  );

  test('keeps recorded evidence after a restart', async () => {
    const { harness, propose, record, agent } = await openVerified();
    const { manifest, signedStatement } = await propose();
    await record(signedStatement());
    await harness.restart();
    expect(await agent.submit(EDGE, manifest, evaluatorReport())).toMatchObject({ accepted: true });
  });
});
