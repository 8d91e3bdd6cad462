import { describe, expect, test } from 'vitest';
import { CoordinatorHarness, PROJECT_KEY, planOf } from '../../../test/support/coordinator-harness.js';
import { coordinationConfig, FILES } from '../../../test/support/workspace-files.js';
import type { Limits } from '../../core/claims/policy.js';
import { type Caller, OPEN_CALLER } from '../authentication/caller.js';

const [A, B] = ['A-001-core', 'B-001-data'] as const;

describe('two coordinators over one store', () => {
  const agentFields = (agent_id: string) => ({ agent_id, session_id: `s-${agent_id}` });

  /** The second coordinator has read the plan, and nothing that the first commits afterwards. */
  async function openTwoCoordinators(plan: unknown, limits: Partial<Limits> = {}) {
    const harness = await CoordinatorHarness.open('memory', { limits });
    await harness.plan(plan);
    const second = await harness.openAnother();
    await second.plans.get(PROJECT_KEY);
    return { harness, first: harness.coordinator, second };
  }

  // req: PRJ-008
  test('grant a task once, whichever of them receives the claim', async () => {
    const { first, second } = await openTwoCoordinators(planOf(A));
    expect(await first.claims.claimTask(PROJECT_KEY, { task_id: A, ...agentFields('alpha') })).toMatchObject({
      reason: 'GRANTED',
    });
    expect(await second.claims.claimTask(PROJECT_KEY, { task_id: A, ...agentFields('beta') })).toMatchObject({
      reason: 'DENIED_ACTIVE_CLAIM',
      current_holder: 'alpha',
    });
    expect(await second.claims.next(PROJECT_KEY, agentFields('beta'))).toMatchObject({
      reason: 'NOTHING_READY',
      waiting_for: [A],
    });
  });

  test('return a claim to its session on request, whichever of them granted it', async () => {
    const { first, second } = await openTwoCoordinators(planOf(A, B));
    await second.claims.claimTask(PROJECT_KEY, { task_id: 'Z-001-none', ...agentFields('alpha') });
    const granted = await first.claims.next(PROJECT_KEY, { ...agentFields('alpha'), track: 'B' });
    expect(granted).toMatchObject({ claim: { task_id: B } });
    expect(await second.claims.next(PROJECT_KEY, { ...agentFields('alpha'), resume: true })).toMatchObject({
      resumed: true,
      claim: { task_id: B, generation: 1 },
    });
  });

  test('let the owner of a session repeat a claim at a coordinator that knows the claim, but not the session', async () => {
    const { first, second } = await openTwoCoordinators(planOf(A));
    const caller = (principal: string): Caller => ({ ...OPEN_CALLER, principal, may_administer: false });
    const claim = { task_id: A, ...agentFields('alpha'), request_id: 'r1' };
    expect(await first.claims.claimTask(PROJECT_KEY, claim, caller('key-1'))).toMatchObject({
      reason: 'GRANTED',
    });
    // From the conflict behind this refusal, the second coordinator learns the head of the task, and nothing else.
    const renewal = { task_id: A, session_id: 's-beta', expected_generation: 1 };
    expect(await second.holder.renewLease(PROJECT_KEY, renewal, caller('key-2'))).toMatchObject({
      reason: 'SESSION_MISMATCH',
    });
    expect(await second.claims.claimTask(PROJECT_KEY, claim, caller('key-1'))).toMatchObject({
      reason: 'GRANTED',
      claim: { generation: 1 },
    });
  });

  test('see dependencies that were completed or reset through the other coordinator', async () => {
    const { first, second } = await openTwoCoordinators(planOf(A, { id: B, depends_on: [A] }));
    const handle = { task_id: A, session_id: 's-alpha', generation: 1 };
    await first.claims.claimTask(PROJECT_KEY, { task_id: A, ...agentFields('alpha') });
    await first.holder.submitResult(PROJECT_KEY, { ...handle, result_data: 1 });
    const claim = { task_id: B, ...agentFields('beta') };
    expect(await second.claims.claimTask(PROJECT_KEY, claim)).toMatchObject({ reason: 'GRANTED' });
    await second.holder.releaseClaim(PROJECT_KEY, {
      task_id: B,
      session_id: 's-beta',
      expected_generation: 1,
    });
    await first.decisions.operate(PROJECT_KEY, A, 'reset', { expected_generation: 1, reason: 'again' });
    expect(await second.claims.claimTask(PROJECT_KEY, claim)).toMatchObject({
      reason: 'DENIED_DEPENDENCIES',
      waiting_for: [A],
    });
  });

  test('enforce the limit of agents per track, and offer work from other tracks', async () => {
    const { first, second } = await openTwoCoordinators(planOf(A, 'A-002-more', 'A-003-more', B));
    await first.settings.putPolicy(PROJECT_KEY, { max_agents_per_track: 1 });
    await second.claims.claimTask(PROJECT_KEY, { task_id: 'Z-001-none', ...agentFields('beta') });
    await first.claims.claimTask(PROJECT_KEY, { task_id: 'A-003-more', ...agentFields('alpha') });
    expect(await second.claims.next(PROJECT_KEY, agentFields('beta'))).toMatchObject({
      reason: 'GRANTED',
      claim: { task_id: B },
    });
  });

  test('count a session that one of them released and the other granted work again', async () => {
    const { harness, first, second } = await openTwoCoordinators(planOf(A, B), { max_active_sessions: 1 });
    await first.settings.putPolicy(PROJECT_KEY, { stale_policy: { task: 'hold' } });
    await first.claims.claimTask(PROJECT_KEY, { task_id: A, ...agentFields('alpha') });
    await second.holder.releaseClaim(PROJECT_KEY, {
      task_id: A,
      session_id: 's-alpha',
      expected_generation: 1,
    });
    await first.claims.claimTask(PROJECT_KEY, { task_id: A, ...agentFields('alpha') });
    harness.advance(1000);
    const other = { task_id: B, ...agentFields('beta') };
    expect(await first.claims.claimTask(PROJECT_KEY, other)).toMatchObject({ limit: 'max_active_sessions' });
    const end = { expected_generation: 2, reason: 'the agent is gone' };
    expect(await second.decisions.operate(PROJECT_KEY, A, 'force_release', end)).toMatchObject({
      reason: 'FORCED',
    });
    harness.advance(1000);
    expect(await first.claims.claimTask(PROJECT_KEY, other)).toMatchObject({ reason: 'GRANTED' });
  });

  test('grant nothing to a session that was closed through the other coordinator', async () => {
    const { first, second } = await openTwoCoordinators(planOf(A, B));
    const claim = (task_id: string) => ({ task_id, ...agentFields('alpha') });
    expect(await second.claims.claimTask(PROJECT_KEY, claim(A))).toMatchObject({ reason: 'GRANTED' });
    expect(await first.sessions.close('acme', 's-alpha')).toMatchObject({ reason: 'CLOSED' });
    expect(await second.claims.claimTask(PROJECT_KEY, claim(B))).toMatchObject({ reason: 'SESSION_CLOSED' });
  });

  test('do not grant two edges that share modules if the rule is enforced, even at the same moment', async () => {
    const harness = await CoordinatorHarness.open('memory');
    const files = { ...FILES, 'coordination.yml': coordinationConfig({ enforce: true }) };
    await harness.coordinator.settings.configure(PROJECT_KEY, { files });
    const second = await harness.openAnother();
    await second.plans.get(PROJECT_KEY);
    const [edgeA, edgeB] = ['REQ-F-A#design_code', 'REQ-F-B#design_code'];
    const replies = await Promise.all([
      harness.coordinator.claims.claimTask(PROJECT_KEY, { task_id: edgeA, ...agentFields('alpha') }),
      second.claims.claimTask(PROJECT_KEY, { task_id: edgeB, ...agentFields('beta') }),
    ]);
    expect(replies.map((reply) => 'reason' in reply && reply.reason).sort()).toEqual([
      'DENIED_PARALLEL',
      'GRANTED',
    ]);
    const refused = replies.find((reply) => 'reason' in reply && reply.reason === 'DENIED_PARALLEL');
    expect(refused).toMatchObject({ shared_modules: ['auth'], holders: [{ shared_modules: ['auth'] }] });
  });

  test('apply a configuration that was written through one of them', async () => {
    const { first, second } = await openTwoCoordinators(planOf(A));
    await first.settings.configure(PROJECT_KEY, { files: FILES });
    const claim = (task_id: string) =>
      second.claims.claimTask(PROJECT_KEY, { task_id, ...agentFields('beta') });
    expect(await claim('REQ-F-X#design_code')).toMatchObject({ reason: 'UNKNOWN_TASK' });
    expect(await claim('REQ-F-A#design_code')).toMatchObject({ reason: 'GRANTED' });
  });

  test('recognize each other’s requests, and accept each other’s handles', async () => {
    const { first, second } = await openTwoCoordinators(planOf(A));
    const body = { task_id: A, ...agentFields('alpha'), request_id: 'r1' };
    const granted = await first.claims.claimTask(PROJECT_KEY, body);
    expect(await second.claims.claimTask(PROJECT_KEY, body)).toEqual(granted);
    const claim_id = 'claim' in granted ? granted.claim?.id : undefined;
    const handle = { task_id: A, session_id: 's-alpha', generation: 1, claim_id };
    expect(await second.holder.submitResult(PROJECT_KEY, { ...handle, result_data: 1 })).toMatchObject({
      accepted: true,
    });
    expect(await first.holder.submitResult(PROJECT_KEY, { ...handle, result_data: 1 })).toMatchObject({
      accepted: true,
    });
    expect(await first.holder.submitResult(PROJECT_KEY, { ...handle, result_data: 2 })).toMatchObject({
      reason: 'TASK_ALREADY_COMPLETED',
    });
  });
});
