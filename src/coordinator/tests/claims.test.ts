import { expect, test } from 'vitest';
import { HarnessAgent, personCaller } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';

const [A, B, C] = ['A-001-core', 'B-001-data', 'C-001-api'] as const;

forEachStore('claims', (open) => {
  async function openWithPlan() {
    const harness = await open();
    await harness.plan(planOf(A, B, { id: C, depends_on: [A] }));
    const [alpha, beta] = [new HarnessAgent(harness, 'alpha', 's1'), new HarnessAgent(harness, 'beta', 's2')];
    return {
      harness,
      coordinator: harness.coordinator,
      queries: harness.coordinator.queries,
      alpha,
      beta,
    };
  }

  // req: LSE-001
  test('a lease lasts 300 seconds unless the claim requests another duration', async () => {
    const { alpha } = await openWithPlan();
    expect((await alpha.claim(A)).claim).toMatchObject({
      lease_duration_seconds: 300,
      expires_at: '2026-01-04T06:05:00.000Z',
    });
    expect((await alpha.claim(B, { lease_duration_seconds: 60 })).claim).toMatchObject({
      lease_duration_seconds: 60,
      expires_at: '2026-01-04T06:01:00.000Z',
    });
  });

  // req: CLM-003, PLN-010
  test('a claim is refused with a code for the state of the task, and with the next step', async () => {
    const { alpha, beta } = await openWithPlan();
    await alpha.claim(A);
    expect(await beta.claim(C)).toMatchObject({ reason: 'DENIED_DEPENDENCIES', waiting_for: [A] });
    expect(await beta.claim(A)).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM', current_holder: 'alpha' });
    expect(await alpha.claim(A)).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM', current_holder: 'alpha' });
    await alpha.submit(A);
    const completed = await beta.claim(A);
    expect(completed).toMatchObject({ success: false, reason: 'DENIED_COMPLETED', current_holder: null });
    expect(completed.next).toContain('reset');
    expect(await beta.claim('A-999-nowhere')).toMatchObject({
      success: false,
      reason: 'UNKNOWN_TASK',
      next: expect.stringMatching(/^A-999-nowhere is not in the plan\. .*gen plan show/),
    });
    expect((await beta.claim(C)).reason).toBe('GRANTED');
  });

  // req: CLM-009
  test('metadata and role are stored with the claim', async () => {
    const { alpha, harness } = await openWithPlan();
    const { claim } = await alpha.claim(A, { metadata: { branch: 'x' }, agent_role: 'architect' });
    expect(claim?.metadata).toEqual({ branch: 'x' });
    const granted = (await harness.events()).find((event) => event.event_type === 'CLAIM_ACQUIRED');
    expect(granted).toMatchObject({ agent_role: 'architect', payload: { metadata: { branch: 'x' } } });
  });

  // req: LSE-004, LSE-005, LSE-006, LSE-007
  test('renew returns NO_CLAIM, GENERATION_MISMATCH, SESSION_MISMATCH and ALREADY_EXPIRED', async () => {
    const { alpha, harness, coordinator } = await openWithPlan();
    const bare = { task_id: A, session_id: 's1', expected_generation: 1 };
    const refusalReply = (reason: string) => ({
      success: false,
      reason,
      new_expiry: null,
      next: expect.any(String),
    });
    expect(await coordinator.holder.renewLease(PROJECT_KEY, bare)).toEqual(refusalReply('NO_CLAIM'));
    await alpha.claim(A);
    expect(await alpha.renew(A, { expected_generation: 2 })).toEqual(refusalReply('GENERATION_MISMATCH'));
    expect(await alpha.renew(A, { session_id: 's2' })).toEqual(refusalReply('SESSION_MISMATCH'));
    expect(await alpha.renew(A, { claim_id: 'clm_wrong' })).toEqual(refusalReply('SESSION_MISMATCH'));
    harness.advance(299);
    expect((await alpha.renew(A)).success).toBe(true);
    harness.advance(300);
    expect(await alpha.renew(A)).toEqual(refusalReply('ALREADY_EXPIRED'));
    await alpha.release(A);
    expect(await alpha.renew(A)).toEqual(refusalReply('NO_CLAIM'));
  });

  test('a renewal can request another duration and never shortens the lease', async () => {
    const { alpha } = await openWithPlan();
    await alpha.claim(A);
    expect((await alpha.renew(A, { lease_duration_seconds: 30 })).new_expiry).toBe(
      '2026-01-04T06:05:00.000Z',
    );
    expect((await alpha.renew(A, { lease_duration_seconds: 600 })).new_expiry).toBe(
      '2026-01-04T06:10:00.000Z',
    );
  });

  // req: CLM-005, CLM-006
  test('release frees the task at once, and a second release has no further effect', async () => {
    const { alpha, beta, harness } = await openWithPlan();
    await alpha.claim(A);
    expect(await alpha.release(A, { expected_generation: 2 })).toMatchObject({
      reason: 'GENERATION_MISMATCH',
    });
    expect(await alpha.release(A, { session_id: 's2' })).toMatchObject({ reason: 'SESSION_MISMATCH' });
    expect(await alpha.release(A)).toEqual({ success: true, reason: 'RELEASED' });
    const position = await harness.position();
    expect(await alpha.release(A)).toEqual({ success: true, reason: 'RELEASED' });
    expect(await harness.position()).toBe(position);
    expect((await beta.claim(A)).claim?.generation).toBe(2);
    expect(await alpha.release(A)).toMatchObject({ reason: 'GENERATION_MISMATCH' });
  });

  // req: CLK-009, RES-002, RES-003, RES-004, RES-010
  test('submit returns every refusal code of the contract, in the order of its rules', async () => {
    const { alpha, beta, coordinator } = await openWithPlan();
    const withoutClaim = { task_id: A, session_id: 's1', generation: 1, result_data: 1 };
    expect(await coordinator.holder.submitResult(PROJECT_KEY, withoutClaim)).toMatchObject({
      reason: 'NO_CLAIM',
      current_generation: 0,
    });
    await alpha.claim(A);
    expect(await alpha.submit(A, 1, { generation: 2 })).toMatchObject({
      accepted: false,
      reason: 'FUTURE_GENERATION',
      current_generation: 1,
      work_lost: false,
      parked: null,
    });
    expect(await alpha.submit(A, 1, { session_id: 's2' })).toMatchObject({
      reason: 'SESSION_MISMATCH',
      parked: null,
    });
    await alpha.release(A);
    expect(await alpha.submit(A)).toMatchObject({
      reason: 'NO_CLAIM',
      parked: expect.stringMatching(/^res_/),
    });
    await beta.claim(A);
    expect(await alpha.submit(A)).toMatchObject({ reason: 'STALE_GENERATION', current_generation: 2 });
    expect(await beta.submit(A, 'one')).toMatchObject({ accepted: true, reason: 'ACCEPTED' });
    expect(await beta.submit(A, 'two')).toMatchObject({ reason: 'TASK_ALREADY_COMPLETED', work_lost: true });
  });

  // req: RCV-006, RES-005
  test('the accepted submission succeeds when repeated, and is recorded once', async () => {
    const { alpha, harness } = await openWithPlan();
    await alpha.claim(A);
    const first = await alpha.submit(A, { b: 1, a: [2] });
    const position = await harness.position();
    expect(await alpha.submit(A, { a: [2], b: 1 })).toEqual(first);
    expect(await harness.position()).toBe(position);
  });

  test('the last holder’s result after expiry is accepted as late unless late_submit is reject', async () => {
    const { alpha, harness, coordinator } = await openWithPlan();
    await alpha.claim(A);
    await alpha.claim(B);
    harness.advance(301);
    expect(await alpha.submit(A)).toMatchObject({ accepted: true, reason: 'ACCEPTED', late: true });
    unwrap(await coordinator.settings.putPolicy(PROJECT_KEY, { late_submit: 'reject' }));
    expect(await alpha.submit(B)).toMatchObject({
      accepted: false,
      reason: 'LEASE_EXPIRED',
      work_lost: true,
      parked: expect.stringMatching(/^res_/),
    });
  });

  test('a handle without its claim id is refused if keys are required', async () => {
    const { alpha, coordinator, harness } = await openWithPlan();
    await alpha.claim(A);
    const position = await harness.position();
    const strict = { ...personCaller('alice'), claim_id_optional: false };
    const { claim_id, ...bare } = alpha.expectedHandle(A);
    expect(await coordinator.holder.renewLease(PROJECT_KEY, bare, strict)).toMatchObject({
      problem: 'CLAIM_ID_REQUIRED',
    });
    expect(await harness.position()).toBe(position);
    expect(await coordinator.holder.renewLease(PROJECT_KEY, { ...bare, claim_id }, strict)).toMatchObject({
      reason: 'RENEWED',
    });
  });

  // req: CLM-010
  test('a partial batch decides each claim separately, in the order of the request', async () => {
    const { alpha, beta } = await openWithPlan();
    await beta.claim(B);
    const results = await alpha.claimBatch([A, B, C, 'Z-001-none', A]);
    expect(results.map((reply) => reply.reason)).toEqual([
      'GRANTED',
      'DENIED_ACTIVE_CLAIM',
      'DENIED_DEPENDENCIES',
      'UNKNOWN_TASK',
      'DENIED_ACTIVE_CLAIM',
    ]);
  });

  test('an all_or_nothing batch grants every claim', async () => {
    const { alpha, harness } = await openWithPlan();
    const results = await alpha.claimBatch([A, B], {}, 'all_or_nothing');
    expect(results.map((reply) => reply.claim?.generation)).toEqual([1, 1]);
    const { claims } = unwrap(await harness.coordinator.sessions.claimsOf('acme', 's1'));
    expect(claims.map((claim) => claim.task_id)).toEqual([A, B]);
    expect((await alpha.renew(B)).success).toBe(true);
  });

  test('an all_or_nothing batch grants nothing when one claim is refused', async () => {
    const { alpha, beta, harness, queries } = await openWithPlan();
    await beta.claim(B);
    const results = await alpha.claimBatch([A, B], {}, 'all_or_nothing');
    expect(results.map((reply) => reply.reason)).toEqual(['DENIED_BATCH', 'DENIED_ACTIVE_CLAIM']);
    expect(await harness.eventTypesOf(A)).toEqual(['CLAIM_REJECTED']);
    expect(await harness.eventTypesOf(B)).toEqual(['CLAIM_ACQUIRED', 'CLAIM_REJECTED']);
    expect(unwrap(await queries.getTaskState(PROJECT_KEY, A))).toMatchObject({
      readiness: 'ready',
      generation: 0,
    });
    expect((await beta.claim(A)).claim?.generation).toBe(1);
  });

  test('an all_or_nothing batch that would exceed a limit grants nothing', async () => {
    const harness = await open({ limits: { max_concurrent_claims: 2 } });
    await harness.plan(planOf(A, B, C));
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    const results = await alpha.claimBatch([A, B, C], {}, 'all_or_nothing');
    expect(results.every((reply) => !reply.success)).toBe(true);
    expect(results[0]).toMatchObject({ reason: 'DENIED_LIMIT', limit: 'max_concurrent_claims' });
    expect(await harness.store.countPermits('acme', 'claims')).toBe(0);
    expect((await alpha.claimBatch([A, B], {}, 'all_or_nothing')).every((reply) => reply.success)).toBe(true);
  });

  test('renew, release and submit accept lists, and decide each item separately', async () => {
    const { alpha, coordinator } = await openWithPlan();
    await alpha.claimBatch([A, B]);
    const wrong = { ...alpha.expectedHandle(B), expected_generation: 7 };
    const renewed = await coordinator.holder.renewBatch(PROJECT_KEY, {
      items: [alpha.expectedHandle(A), wrong, { task_id: A }],
    });
    expect(unwrap(renewed).results).toMatchObject([
      { reason: 'RENEWED' },
      { reason: 'GENERATION_MISMATCH' },
      { problem: 'INVALID_REQUEST' },
    ]);
    const submitted = await coordinator.holder.submitBatch(PROJECT_KEY, {
      items: [{ ...alpha.handle(A), result_data: 1 }],
    });
    expect(unwrap(submitted).results).toMatchObject([{ reason: 'ACCEPTED' }]);
    const released = await coordinator.holder.releaseBatch(PROJECT_KEY, {
      items: [alpha.expectedHandle(A), alpha.expectedHandle(B)],
    });
    expect(unwrap(released).results).toMatchObject([{ reason: 'NO_CLAIM' }, { reason: 'RELEASED' }]);
  });

  // req: CLK-007, CLM-004
  test('exactly one of forty concurrent claims of one task is granted', async () => {
    const { harness, queries } = await openWithPlan();
    const agents = Array.from(
      { length: 40 },
      (_, index) => new HarnessAgent(harness, `agent-${index}`, `s-${index}`),
    );
    const replies = await Promise.all(agents.map((agent) => agent.claim(A)));
    expect(replies.filter((reply) => reply.success)).toHaveLength(1);
    expect(unwrap(await queries.getTaskState(PROJECT_KEY, A)).generation).toBe(1);
  });

  // req: SES-008
  test('the claims of a session are listed across projects, without expired ones', async () => {
    const { alpha, harness } = await openWithPlan();
    const other = { tenant_id: 'acme', project_id: 'app' };
    await harness.plan(planOf(A), other);
    await alpha.claim(B);
    await new HarnessAgent(harness, 'alpha', 's1', null, other).claim(A, { lease_duration_seconds: 60 });
    const listedIds = async () =>
      unwrap(await harness.coordinator.sessions.claimsOf('acme', 's1')).claims.map(
        (claim) => `${claim.project_id}/${claim.task_id}`,
      );
    expect(await listedIds()).toEqual([`app/${A}`, `shop/${B}`]);
    harness.advance(60);
    expect(await listedIds()).toEqual([`shop/${B}`]);
  });

  test('tasks are listed in pages and filtered by phase, readiness and track', async () => {
    const { alpha, queries } = await openWithPlan();
    await alpha.claim(A);
    const listedIds = async (filter: Parameters<typeof queries.listTasks>[1]) =>
      unwrap(await queries.listTasks(PROJECT_KEY, filter)).tasks.map((task) => task.task_id);
    expect(await listedIds({ readiness: 'claimed' })).toEqual([A]);
    expect(await listedIds({ readiness: 'blocked' })).toEqual([C]);
    expect(await listedIds({ track: 'B' })).toEqual([B]);
    await alpha.submit(A);
    expect(await listedIds({ phase: 'COMPLETED' })).toEqual([A]);
    const page = unwrap(await queries.listTasks(PROJECT_KEY, { limit: 2 }));
    expect([page.tasks.map((task) => task.task_id), page.next]).toEqual([[A, B], B]);
    expect(await listedIds({ after: B })).toEqual([C]);
  });
});
