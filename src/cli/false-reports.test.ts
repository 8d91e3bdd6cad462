import { describe, expect, it } from 'vitest';
import { reportedOutcome, SigningRunner, uploadCandidate } from '../../test/support/signing-runner.js';
import { FILES } from '../../test/support/workspace-files.js';
import { Genesis } from '../client/index.js';
import type { CheckOutcome } from '../core/engine/check-outcome.js';
import { withResultCounts } from '../core/methodology/definition/convergence.js';
import { startHarness } from './testing/cli-harness.js';
import { runGen } from './testing/terminal.js';

const EDGE = 'REQ-F-A#design_code';
const ROLES = 'roles:\n  architect: { converge_edges: [design_code] }\n';
const COMMAND = 'sh tools/check.sh';
const CHECKLIST = `edge: "design→code"
checklist:
  - { name: tests_pass, type: deterministic, criterion: the tests pass, required: true, command: "${COMMAND}" }
`;
const passedOutcome = (more: Partial<CheckOutcome> = {}) => reportedOutcome('tests_pass', COMMAND, more);

/** A server with keys, a project under `verified` with an enrolled runner, and an agent who has claimed an edge. */
async function openProject() {
  const { terminal } = await startHarness();
  const url = terminal.env.GENESIS_URL;
  const createKey = async (client: Genesis, role: 'admin' | 'agent' | 'runner') => {
    const key = await client.createKey({ role });
    if (!('token' in key) || key.token === null) throw new Error('no key');
    return { token: key.token, client: new Genesis({ url, project: 'shop', token: key.token }) };
  };
  const { client: admin } = await createKey(new Genesis({ url, project: 'shop' }), 'admin');
  const files = { ...FILES, 'agent_roles.yml': ROLES, 'graph/edges/design_code.yml': CHECKLIST };
  expect(await admin.methodology.init({ files })).toMatchObject({ success: true });
  expect(await admin.putPolicy({ evidence: 'verified' })).toMatchObject({ evidence: 'verified' });
  const runner = new SigningRunner();
  expect(await admin.enrolRunner({ public_key: runner.public_key })).toMatchObject({ state: 'enrolled' });
  const { client: runnerClient } = await createKey(admin, 'runner');
  const { client: agent, token } = await createKey(admin, 'agent');
  const env = { ...terminal.env, GENESIS_PROJECT: 'shop', GENESIS_TOKEN: token };
  const claim = async () => {
    const granted = await agent.claimTask({
      ...{ task_id: EDGE, agent_id: 'liar', session_id: 's1', agent_role: 'architect' },
    });
    if (!('claim' in granted) || granted.claim === null) throw new Error(JSON.stringify(granted));
    const { id: claim_id, generation } = granted.claim;
    return { handle: { task_id: EDGE, session_id: 's1', claim_id }, generation };
  };
  let currentClaim = await claim();
  const propose = async (changed: Readonly<Record<string, string>>, existing: readonly string[] = []) => {
    const { manifest, sha256 } = await uploadCandidate(agent, changed, existing);
    const { handle, generation } = currentClaim;
    const reply = await agent.proposeCandidate({
      ...{ ...handle, expected_generation: generation, candidate_sha256: sha256 },
    });
    const base_version = 'base_version' in reply ? reply.base_version : 0;
    const statementFields = {
      tenant_id: 'default',
      project_id: 'shop',
      task_id: EDGE,
      generation,
      base_version,
    };
    const signedStatement = (checks = [passedOutcome()], signer = runner) =>
      signer.statement({ ...statementFields, candidate_sha256: sha256, checks });
    return { manifest, signedStatement, reply };
  };
  const releaseAndClaim = async () => {
    const { handle, generation } = currentClaim;
    await agent.releaseClaim({ ...handle, expected_generation: generation, reason: 'VOLUNTARY' });
    currentClaim = await claim();
  };
  const submit = (result_data: unknown) =>
    agent.submitResult({
      ...{ ...currentClaim.handle, generation: currentClaim.generation, result_data },
      evaluators: withResultCounts([{ name: 'tests_pass', result: 'pass' }]),
    });
  /** Expects that the edge has not converged, and that `gen task explain` says this about it. */
  const expectOpen = async (says: string | RegExp) => {
    const explained = await runGen({ ...terminal, env }, 'task', 'explain', EDGE);
    expect(explained.out).toMatch(says);
    const converged = await agent.events({ type: 'edge_converged' });
    expect('events' in converged && converged.events).toEqual([]);
  };
  return { agent, runner, runnerClient, propose, releaseAndClaim, submit, expectOpen };
}

describe('under `evidence: verified` no edge converges', { timeout: 60_000 }, () => {
  it('if an agent reports failing tests as passed', async () => {
    const { runner, runnerClient, propose, submit, expectOpen } = await openProject();
    const { manifest, signedStatement } = await propose({ 'src/a.ts': 'x' });
    expect(await submit(manifest)).toMatchObject({ reason: 'NOT_CONVERGED' });
    await expectOpen(/tests_pass: Proposed as [0-9a-f]{12}; waiting for a runner/);
    const failed = passedOutcome({ result: 'fail', says: '3 tests failed.', exit_code: 1 });
    expect(await runnerClient.recordEvidence(runner.signed(signedStatement([failed])))).toMatchObject({
      reason: 'RECORDED',
    });
    expect(await submit(manifest)).toMatchObject({ reason: 'NOT_CONVERGED' });
    await expectOpen(/tests_pass: A runner ran the check: fail\. 3 tests failed\./);
  });

  it('if an agent signs evidence with its own key, or enrols that key, or records as a runner', async () => {
    const { agent, runner, runnerClient, propose, submit, expectOpen } = await openProject();
    const { manifest, signedStatement } = await propose({ 'src/a.ts': 'x' });
    const agentKey = new SigningRunner();
    expect(
      await runnerClient.recordEvidence(agentKey.signed(signedStatement([passedOutcome()], agentKey))),
    ).toMatchObject({
      reason: 'UNKNOWN_RUNNER',
    });
    expect(await runnerClient.recordEvidence(agentKey.signed(signedStatement()))).toMatchObject({
      code: 'SIGNATURE_INVALID',
    });
    expect(await agent.enrolRunner({ public_key: agentKey.public_key })).toMatchObject({ code: 'FORBIDDEN' });
    expect(await agent.recordEvidence(runner.signed(signedStatement()))).toMatchObject({ code: 'FORBIDDEN' });
    expect(await agent.putPolicy({ evidence: 'reported' })).toMatchObject({ code: 'FORBIDDEN' });
    expect(await submit(manifest)).toMatchObject({ reason: 'NOT_CONVERGED' });
    await expectOpen(/tests_pass: Proposed as [0-9a-f]{12}; waiting for a runner/);
  });

  it('if evidence of another tree or of another generation is replayed', async () => {
    const { runner, runnerClient, propose, releaseAndClaim, submit, expectOpen } = await openProject();
    const good = await propose({ 'src/a.ts': 'good' });
    const evidence = runner.signed(good.signedStatement());
    expect(await runnerClient.recordEvidence(evidence)).toMatchObject({ reason: 'RECORDED' });
    const bad = await propose({ 'src/a.ts': 'bad' });
    expect(await runnerClient.recordEvidence(evidence)).toMatchObject({ reason: 'NO_CANDIDATE' });
    expect(await submit(bad.manifest)).toMatchObject({ reason: 'NOT_CONVERGED' });
    await expectOpen(/tests_pass: Proposed as [0-9a-f]{12}; waiting for a runner/);
    await propose({ 'src/a.ts': 'good' });
    await runnerClient.recordEvidence(evidence);
    await releaseAndClaim();
    expect(await submit(good.manifest)).toMatchObject({ reason: 'NOT_CONVERGED' });
    await expectOpen(/tests_pass: The evidence is of generation 1, but the current one is 2/);
  });

  it('if an agent appends that the edge has converged, or imports a log that says so', async () => {
    const { agent, propose, expectOpen } = await openProject();
    await propose({ 'src/a.ts': 'x' });
    const event = { event_type: 'edge_converged', feature_id: 'REQ-F-A', edge: 'design_code', payload: {} };
    expect(await agent.appendEvent({ ...event, agent_id: 'liar' })).not.toMatchObject({ success: true });
    expect(await agent.importEvents([event])).toMatchObject({ code: 'FORBIDDEN' });
    await expectOpen(/tests_pass: Proposed as [0-9a-f]{12}; waiting for a runner/);
  });

  it.each([
    ['an existing test', 'src/a.test.ts', ['src/a.test.ts']],
    ['the script that the check calls', 'tools/check.sh', ['tools/check.sh']],
    ['the configuration of the test tool', 'vitest.config.ts', []],
  ])('before a person has approved it, if the candidate changes %s', async (_, path, existing) => {
    const { runner, runnerClient, propose, submit, expectOpen } = await openProject();
    const { manifest, signedStatement } = await propose({ [path]: 'true' }, existing);
    await runnerClient.recordEvidence(runner.signed(signedStatement()));
    expect(await submit(manifest)).toMatchObject({
      reason: 'ESCALATED',
      next: expect.stringContaining(`the result changes checks or tests: ${path}`),
    });
    await expectOpen(/waits for a person/);
  });

  it("if the candidate contains the edge's YAML: it cannot be proposed or submitted", async () => {
    const { propose, submit, expectOpen } = await openProject();
    const { manifest, reply } = await propose({ '.ai-workspace/graph/edges/design_code.yml': 'x' });
    expect(reply).toMatchObject({ code: 'INVALID_REQUEST' });
    expect(await submit(manifest)).toMatchObject({ code: 'INVALID_REQUEST' });
    await expectOpen(/tests_pass: Not proposed yet/);
  });
});
