import { expect, test } from 'vitest';
import { HarnessAgent, personCaller } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';

const [A, B] = ['A-001-core', 'B-001-data'] as const;

forEachStore('a request id', (open) => {
  async function openWithPlan() {
    const harness = await open();
    await harness.plan(planOf(A, B));
    return {
      harness,
      coordinator: harness.coordinator,
      alpha: new HarnessAgent(harness, 'alpha', 's1'),
    };
  }

  test('makes a repeated claim return the same reply, also after a restart and later changes', async () => {
    const { harness, alpha } = await openWithPlan();
    const first = await alpha.claim(A, { request_id: 'r1' });
    const position = await harness.position();
    expect(await alpha.claim(A, { request_id: 'r1' })).toEqual(first);
    await alpha.renew(A);
    await alpha.submit(A);
    await harness.restart();
    expect(await alpha.claim(A, { request_id: 'r1' })).toEqual(first);
    expect(await harness.position()).toBe(position + 2);
  });

  test('makes a claim that survived a loss of history return a handle that is valid, unlike its first one', async () => {
    const { harness, alpha } = await openWithPlan();
    const first = await alpha.claim(A, { request_id: 'r1' });
    const before = alpha.expectedHandle(A);
    await harness.store.raiseIncarnation(2);
    await harness.restart();
    const again = await alpha.claim(A, { request_id: 'r1' });
    expect(again.claim?.id).not.toBe(first.claim?.id);
    expect({ ...again.claim, id: first.claim?.id }).toEqual(first.claim);
    expect(await alpha.renew(A, before)).toMatchObject({ reason: 'SESSION_MISMATCH' });
    expect(await alpha.renew(A)).toMatchObject({ reason: 'RENEWED' });
  });

  test('sent twice concurrently takes effect once, and both calls get the same reply', async () => {
    const { harness, alpha } = await openWithPlan();
    const replies = await Promise.all([1, 2, 3].map(() => alpha.claim(A, { request_id: 'r1' })));
    expect(replies[1]).toEqual(replies[0]);
    expect(replies[2]).toEqual(replies[0]);
    expect(await harness.eventTypesOf(A)).toEqual(['CLAIM_ACQUIRED']);
  });

  test('reused with another body or operation is a conflict and changes nothing', async () => {
    const { harness, alpha, coordinator } = await openWithPlan();
    await alpha.claim(A, { request_id: 'r1' });
    const position = await harness.position();
    const conflict = { problem: 'IDEMPOTENCY_CONFLICT' };
    expect(await alpha.tryClaim(B, { request_id: 'r1' })).toMatchObject(conflict);
    expect(await alpha.tryClaim(A, { request_id: 'r1', lease_duration_seconds: 60 })).toMatchObject(conflict);
    const next = { agent_id: 'alpha', session_id: 's1', request_id: 'r1' };
    expect(await coordinator.claims.next(PROJECT_KEY, next)).toMatchObject(conflict);
    expect(
      await coordinator.plans.add(PROJECT_KEY, [{ id: 'C-001-x', description: 'x' }], { request_id: 'r1' }),
    ).toMatchObject(conflict);
    expect(await harness.position()).toBe(position);
  });

  test('of another principal is another request', async () => {
    const { coordinator } = await openWithPlan();
    const body = { agent_id: 'alpha', session_id: 's1', request_id: 'r1' };
    const callerWithKey = (principal: string) => ({ ...personCaller('x'), principal });
    expect(
      await coordinator.claims.claimTask(PROJECT_KEY, { task_id: A, ...body }, callerWithKey('key-1')),
    ).toMatchObject({
      success: true,
    });
    expect(
      await coordinator.claims.claimTask(PROJECT_KEY, { task_id: B, ...body }, callerWithKey('key-2')),
    ).toMatchObject({
      success: true,
    });
  });

  test('of a refused command is decided again', async () => {
    const { harness, alpha } = await openWithPlan();
    const beta = new HarnessAgent(harness, 'beta', 's2');
    await alpha.claim(A);
    expect((await beta.claim(A, { request_id: 'r9' })).reason).toBe('DENIED_ACTIVE_CLAIM');
    await alpha.release(A);
    expect((await beta.claim(A, { request_id: 'r9' })).reason).toBe('GRANTED');
  });

  test('makes a repeated next return the same task', async () => {
    const { alpha, harness } = await openWithPlan();
    const first = await alpha.next({ request_id: 'n1' });
    expect(first.claim?.task_id).toBe(A);
    expect(await alpha.next({ request_id: 'n1' })).toEqual(first);
    expect((await alpha.next({ request_id: 'n2' })).claim?.task_id).toBe(B);
    expect((await harness.events()).filter((event) => event.event_type === 'CLAIM_ACQUIRED')).toHaveLength(2);
  });

  test.each(['partial', 'all_or_nothing'] as const)(
    'makes a repeated %s batch return the same reply',
    async (mode) => {
      const { coordinator, harness } = await openWithPlan();
      const claims = [A, B].map((task_id) => ({ task_id, agent_id: 'alpha', session_id: 's1' }));
      const batch = { claims, mode, request_id: 'b1' };
      const first = unwrap(await coordinator.claims.batchClaim(PROJECT_KEY, batch));
      expect(first.results).toMatchObject([{ success: true }, { success: true }]);
      const position = await harness.position();
      expect(await coordinator.claims.batchClaim(PROJECT_KEY, batch)).toEqual(first);
      expect(await harness.position()).toBe(position);
    },
  );

  test('reused with another all_or_nothing batch is a conflict', async () => {
    const { coordinator } = await openWithPlan();
    const claim = (task_id: string) => ({ task_id, agent_id: 'alpha', session_id: 's1' });
    const batch = { claims: [claim(A)], mode: 'all_or_nothing', request_id: 'b1' };
    await coordinator.claims.batchClaim(PROJECT_KEY, batch);
    const other = { ...batch, claims: [claim(B)] };
    expect(await coordinator.claims.batchClaim(PROJECT_KEY, other)).toMatchObject({
      problem: 'IDEMPOTENCY_CONFLICT',
    });
  });

  test('makes a repeated operator command take effect once', async () => {
    const { coordinator, harness, alpha } = await openWithPlan();
    await alpha.claim(A);
    const reassign = {
      expected_generation: 1,
      reason: 'slow',
      agent_id: 'beta',
      session_id: 's2',
      request_id: 'o1',
    };
    const first = await coordinator.decisions.operate(PROJECT_KEY, A, 'reassign', reassign);
    expect(first).toMatchObject({ success: true, reason: 'REASSIGNED', generation: 2 });
    const position = await harness.position();
    expect(await coordinator.decisions.operate(PROJECT_KEY, A, 'reassign', reassign)).toEqual(first);
    expect(await harness.position()).toBe(position);
    const other = { ...reassign, session_id: 's3' };
    expect(await coordinator.decisions.operate(PROJECT_KEY, A, 'reassign', other)).toMatchObject({
      problem: 'IDEMPOTENCY_CONFLICT',
    });
  });

  test('makes a repeated note take effect once, and a different text a conflict', async () => {
    const { coordinator, harness, alpha } = await openWithPlan();
    await alpha.claim(A);
    const note = { ...alpha.handle(A), text: 'half of it', request_id: 'n1' };
    const first = await coordinator.holder.note(PROJECT_KEY, note);
    expect(first).toMatchObject({ success: true, reason: 'NOTED' });
    const position = await harness.position();
    expect(await coordinator.holder.note(PROJECT_KEY, note)).toEqual(first);
    expect(await coordinator.holder.note(PROJECT_KEY, { ...note, text: 'all of it' })).toMatchObject({
      problem: 'IDEMPOTENCY_CONFLICT',
    });
    expect(await harness.position()).toBe(position);
  });

  test('keeps a repeated suspend from suspending a claim that was resumed since', async () => {
    const { coordinator, alpha } = await openWithPlan();
    await alpha.claim(A);
    const handle = alpha.expectedHandle(A);
    const suspended = await coordinator.holder.suspendClaim(PROJECT_KEY, { ...handle, request_id: 'g1' });
    const resumed = await coordinator.holder.resumeClaim(PROJECT_KEY, { ...handle, request_id: 'g2' });
    expect([suspended, resumed]).toMatchObject([{ reason: 'SUSPENDED' }, { reason: 'RESUMED' }]);
    expect(await coordinator.holder.suspendClaim(PROJECT_KEY, { ...handle, request_id: 'g1' })).toEqual(
      suspended,
    );
    expect(await coordinator.queries.getTaskState(PROJECT_KEY, A)).toMatchObject({ readiness: 'claimed' });
    expect(await coordinator.holder.suspendClaim(PROJECT_KEY, { ...handle, request_id: 'g2' })).toMatchObject(
      {
        problem: 'IDEMPOTENCY_CONFLICT',
      },
    );
  });

  test('makes a repeated review take effect once, and is recorded in its event', async () => {
    const { coordinator, harness, alpha } = await openWithPlan();
    await alpha.claim(A);
    const candidate = { iteration: 1, candidate_sha256: 'a'.repeat(64) };
    await alpha.suspends(A, candidate);
    const review = { task_id: A, generation: 1, ...candidate, decision: 'APPROVED', request_id: 'v1' };
    const first = await coordinator.decisions.recordReview(PROJECT_KEY, review, personCaller('rita'));
    expect(first).toMatchObject({ success: true, reason: 'APPROVED' });
    expect((await harness.events()).at(-1)).toMatchObject({ request_id: 'v1' });
    expect(await coordinator.decisions.recordReview(PROJECT_KEY, review, personCaller('rita'))).toEqual(
      first,
    );
    const other = { ...review, decision: 'REJECTED' };
    expect(await coordinator.decisions.recordReview(PROJECT_KEY, other, personCaller('rita'))).toMatchObject({
      problem: 'IDEMPOTENCY_CONFLICT',
    });
  });

  test('makes a repeated change of plan, policy or limits take effect once', async () => {
    const { coordinator, harness } = await openWithPlan();
    const tasks = [{ id: 'C-001-api', description: 'api' }];
    const added = await coordinator.plans.add(PROJECT_KEY, tasks, { request_id: 'p1' });
    expect(added).toMatchObject({ version: 2, added: 1 });
    const plan = planOf(A, B, 'C-001-api', 'D-001-ui');
    const put = await coordinator.plans.put(PROJECT_KEY, plan, { request_id: 'p2' });
    const policy = await coordinator.settings.putPolicy(PROJECT_KEY, { max_attempts: 3, request_id: 'p3' });
    const position = await harness.position();
    expect(await coordinator.plans.add(PROJECT_KEY, tasks, { request_id: 'p1' })).toEqual(added);
    expect(await coordinator.plans.put(PROJECT_KEY, plan, { request_id: 'p2' })).toEqual(put);
    expect(await coordinator.settings.putPolicy(PROJECT_KEY, { max_attempts: 3, request_id: 'p3' })).toEqual(
      policy,
    );
    expect(await harness.position()).toBe(position);
    expect(
      await coordinator.settings.putPolicy(PROJECT_KEY, { max_attempts: 4, request_id: 'p3' }),
    ).toMatchObject({
      problem: 'IDEMPOTENCY_CONFLICT',
    });
    const limits = { max_concurrent_claims: 7, request_id: 'l1' };
    const reply = await coordinator.settings.putLimits('acme', limits);
    expect(await coordinator.settings.putLimits('acme', limits)).toEqual(reply);
  });

  test('makes a repeated opening without a session id open one session', async () => {
    const { coordinator } = await openWithPlan();
    const body = { user_id: 'alice', project_id: 'shop', request_id: 's1' };
    const first = await coordinator.sessions.open('acme', body);
    expect(first).toMatchObject({ success: true, session: { user_id: 'alice' } });
    expect(await coordinator.sessions.open('acme', body)).toEqual(first);
    expect(unwrap(await coordinator.sessions.list('acme')).sessions).toHaveLength(1);
  });
});
