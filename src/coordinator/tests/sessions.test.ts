import { expect, test, vi } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';
import type { LogStep } from '../../stores/store.js';
import { Project } from '../queue/project.js';
import { noopObserver } from '../runtime/observer.js';
import { problem } from '../wire/problem.js';

const [A, B, C] = ['A-001-core', 'B-001-data', 'C-001-api'] as const;

forEachStore('sessions', (open) => {
  async function openWithPlan(limits = {}, observer = noopObserver) {
    const harness = await open({ limits, observer });
    await harness.plan(planOf(A, B, C));
    const countActiveSessions = () => harness.store.countPermits('acme', 'sessions');
    return {
      harness,
      coordinator: harness.coordinator,
      queries: harness.coordinator.queries,
      countActiveSessions,
    };
  }

  test('an unopened session is opened by its first claim, with the user who made the claim', async () => {
    const { harness } = await openWithPlan();
    await new HarnessAgent(harness, 'alpha', 's1', 'alice').claim(A);
    expect(unwrap(await harness.coordinator.sessions.list('acme')).sessions).toEqual([
      {
        session_id: 's1',
        tenant_id: 'acme',
        project_id: 'shop',
        user_id: 'alice',
        state: 'open',
        created_at: '2026-01-04T06:00:00.000Z',
      },
    ]);
    const types = (await harness.events()).map((event) => event.event_type);
    expect(types).toEqual(['PLAN_CHANGED', 'SESSION_OPENED', 'CLAIM_ACQUIRED']);
  });

  test('closing a session fails while one of its claims cannot be released, and can be repeated', async () => {
    const { harness, coordinator } = await openWithPlan();
    await new HarnessAgent(harness, 'alpha', 's1').claim(A);
    const { run } = Project.prototype;
    const running = vi.spyOn(Project.prototype, 'run');
    running.mockImplementation(function (this: Project, ...args) {
      const isRelease = args[0].kind === 'release';
      return isRelease ? Promise.resolve(problem('UNAVAILABLE', 'The store failed.')) : run.apply(this, args);
    });
    expect(await coordinator.sessions.close('acme', 's1')).toMatchObject({ problem: 'UNAVAILABLE' });
    running.mockRestore();
    expect(unwrap(await coordinator.sessions.close('acme', 's1')).success).toBe(true);
    expect(unwrap(await coordinator.queries.getTaskState(PROJECT_KEY, A)).claim?.state).toBe('RELEASED');
  });

  test('a refused claim opens no session', async () => {
    const { harness } = await openWithPlan();
    await new HarnessAgent(harness, 'alpha', 's1').claim('A-999-none');
    expect(unwrap(await harness.coordinator.sessions.list('acme')).sessions).toEqual([]);
  });

  // req: SES-001, SES-009
  test('opening a session twice has one effect, and its user is the user of its claims', async () => {
    const { harness, coordinator, queries } = await openWithPlan();
    const body = { session_id: 's1', user_id: 'alice', project_id: 'shop' };
    const first = await coordinator.sessions.open('acme', body);
    expect(first).toMatchObject({
      success: true,
      reason: 'OPENED',
      session: { session_id: 's1', state: 'open' },
    });
    const position = await harness.position();
    expect(await coordinator.sessions.open('acme', body)).toEqual(first);
    expect(await harness.position()).toBe(position);
    await new HarnessAgent(harness, 'alpha', 's1').claim(A);
    expect(unwrap(await queries.getClaimHistory(PROJECT_KEY, A)).generations[0]?.user_id).toBe('alice');
  });

  // req: SES-001, SES-002, SES-003, SES-004, SES-005, SES-006
  test('the memory of a session lists what it did, in the format of specification 004 §3.5', async () => {
    const { harness, coordinator } = await openWithPlan();
    await coordinator.sessions.open('acme', { session_id: 's1', user_id: 'alice', project_id: 'shop' });
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim(A);
    harness.advance(60);
    const { work_product_ref } = await alpha.submit(A);
    await alpha.claim(B);
    await harness.restart();
    expect(await harness.coordinator.sessions.get('acme', 's1')).toMatchObject({
      session_id: 's1',
      tenant_id: 'acme',
      project_id: 'shop',
      user_id: 'alice',
      created_at: '2026-01-04T06:00:00.000Z',
      last_activity: '2026-01-04T06:01:00.000Z',
      task_log: [
        { event: 'CLAIM_ACQUIRED', task_id: A, track: 'A', sequence: 1, generation: 1, agent_id: 'alpha' },
        { event: 'RESULT_SUBMITTED', task_id: A, outcome: 'ACCEPTED', work_product_ref },
        { event: 'CLAIM_ACQUIRED', task_id: B, timestamp: '2026-01-04T06:01:00.000Z' },
      ],
      active_claims: [{ task_id: B, generation: 1, expires_at: '2026-01-04T06:06:00.000Z' }],
      completed_tasks: [A],
      track_assignments: { A: 'alpha', B: 'alpha' },
      track_progress: {
        A: { completed: 1, in_progress: 0, pending: 0 },
        B: { completed: 0, in_progress: 1, pending: 0 },
        C: { completed: 0, in_progress: 0, pending: 1 },
      },
    });
    const nobody = await harness.coordinator.sessions.get('acme', 'nobody');
    expect(nobody).toMatchObject({ problem: 'NOT_FOUND' });
  });

  // req: SES-005
  test('the memory of a session adds up the progress of the tracks in all its projects', async () => {
    const { harness, coordinator } = await openWithPlan();
    const other = { tenant_id: 'acme', project_id: 'app' };
    await harness.plan(planOf(A, 'D-001-docs'), other);
    await new HarnessAgent(harness, 'alpha', 's1').claim(A);
    await new HarnessAgent(harness, 'alpha', 's1', null, other).claim('D-001-docs');
    expect(unwrap(await coordinator.sessions.get('acme', 's1')).track_progress).toEqual({
      A: { completed: 0, in_progress: 1, pending: 1 },
      B: { completed: 0, in_progress: 0, pending: 1 },
      C: { completed: 0, in_progress: 0, pending: 1 },
      D: { completed: 0, in_progress: 1, pending: 0 },
    });
  });

  test('closing a session releases its claims in every project, and no others', async () => {
    const { harness, coordinator, queries } = await openWithPlan();
    const other = { tenant_id: 'acme', project_id: 'app' };
    await harness.plan(planOf(A), other);
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claimBatch([A, B]);
    await new HarnessAgent(harness, 'alpha', 's1', null, other).claim(A);
    await new HarnessAgent(harness, 'beta', 's2').claim(C);
    expect(await coordinator.sessions.close('acme', 's1')).toMatchObject({
      success: true,
      reason: 'CLOSED',
      session: { state: 'closed', closed_at: '2026-01-04T06:00:00.000Z' },
    });
    for (const [projectKey, taskId] of [
      [PROJECT_KEY, A] as const,
      [PROJECT_KEY, B] as const,
      [other, A] as const,
    ]) {
      expect(unwrap(await queries.getTaskState(projectKey, taskId)).claim?.state).toBe('RELEASED');
      const { generations } = unwrap(await queries.getClaimHistory(projectKey, taskId));
      expect(generations.at(-1)?.release_reason).toBe('SESSION_CLOSED');
    }
    expect(unwrap(await queries.getTaskState(PROJECT_KEY, C)).claim?.state).toBe('ACTIVE');
    expect(await coordinator.sessions.close('acme', 's9')).toMatchObject({ problem: 'NOT_FOUND' });
  });

  test('a closed session cannot claim, and closing it again changes nothing', async () => {
    const { harness, coordinator } = await openWithPlan();
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim(A);
    await coordinator.sessions.close('acme', 's1');
    const position = await harness.position();
    await coordinator.sessions.close('acme', 's1');
    expect(await alpha.claim(B)).toMatchObject({ success: false, reason: 'SESSION_CLOSED' });
    expect(await alpha.next()).toMatchObject({ success: false, reason: 'SESSION_CLOSED' });
    const again = await coordinator.sessions.open('acme', {
      session_id: 's1',
      user_id: 'a',
      project_id: 'shop',
    });
    expect(again).toMatchObject({ success: false, reason: 'SESSION_CLOSED' });
    expect(await alpha.submit(A)).toMatchObject({ accepted: false, reason: 'NO_CLAIM' });
    const reassign = { expected_generation: 1, reason: 'x', agent_id: 'alpha', session_id: 's1' };
    expect(await coordinator.decisions.operate(PROJECT_KEY, A, 'reassign', reassign)).toMatchObject({
      reason: 'SESSION_CLOSED',
    });
    expect((await harness.events()).slice(position).map((event) => event.event_type)).toEqual([
      'RESULT_REJECTED',
    ]);
  });

  test('a session is active for session_idle_seconds after its last command', async () => {
    const { harness, countActiveSessions } = await openWithPlan();
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim(A, { lease_duration_seconds: 60 });
    expect(await countActiveSessions()).toBe(1);
    harness.advance(899);
    expect(await countActiveSessions()).toBe(1);
    harness.advance(1);
    expect(await countActiveSessions()).toBe(0);
    await alpha.claim(B);
    harness.advance(600);
    await alpha.submit(B);
    harness.advance(899);
    expect(await countActiveSessions()).toBe(1);
    harness.advance(1);
    expect(await countActiveSessions()).toBe(0);
  });

  test('a session that submits a late result is active as long as its other claims', async () => {
    const { harness, countActiveSessions } = await openWithPlan();
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim(A, { lease_duration_seconds: 60 });
    await alpha.claim(B, { lease_duration_seconds: 3600 });
    harness.advance(70);
    await harness.coordinator.sweep();
    await alpha.submit(A);
    harness.advance(3000);
    expect(await countActiveSessions()).toBe(1);
  });

  test('a session whose long claim was released is active for session_idle_seconds only', async () => {
    const { harness, countActiveSessions } = await openWithPlan();
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim(A, { lease_duration_seconds: 3600 });
    await alpha.claim(B, { lease_duration_seconds: 60 });
    await alpha.release(A);
    harness.advance(1000);
    expect(await countActiveSessions()).toBe(0);
  });

  test('a session that is active again within a second is written to the store once', async () => {
    const written: (number | null)[] = [];
    const committed = (_: unknown, { permits }: Pick<LogStep, 'permits'>): void => {
      const ofSessions = permits.filter(({ scope }) => scope === 'sessions');
      written.push(...ofSessions.map(({ until_ms }) => until_ms));
    };
    const { harness, countActiveSessions } = await openWithPlan(
      {},
      { ...noopObserver, committed, stepCommitted: committed },
    );
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    const startMs = await harness.store.now();
    await alpha.claim(A);
    harness.advance(0.3);
    await alpha.claim(B);
    harness.advance(0.3);
    await alpha.renew(B);
    harness.advance(0.4);
    await alpha.claim(C);
    expect(written).toEqual([startMs + 900_000, startMs + 901_000]);
    harness.advance(899.9);
    expect(await countActiveSessions()).toBe(1);
    harness.advance(0.1);
    expect(await countActiveSessions()).toBe(0);
  });

  test('a session is active while it holds a live claim, also across a restart', async () => {
    const { harness, countActiveSessions } = await openWithPlan();
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim(A, { lease_duration_seconds: 3600 });
    await harness.restart();
    await alpha.claim(B, { lease_duration_seconds: 30 });
    harness.advance(3599);
    expect(await countActiveSessions()).toBe(1);
    harness.advance(1);
    expect(await countActiveSessions()).toBe(0);
  });

  test('a claim that was renewed keeps its session active while the session finishes other work', async () => {
    const { harness, countActiveSessions } = await openWithPlan();
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim(A, { lease_duration_seconds: 1200 });
    await alpha.claim(B, { lease_duration_seconds: 1200 });
    harness.advance(800);
    await alpha.renew(A);
    await alpha.submit(B);
    harness.advance(1199);
    expect(await countActiveSessions()).toBe(1);
    harness.advance(1);
    expect(await countActiveSessions()).toBe(0);
  });

  test.each(['hold', 'takeover'])(
    'under stale_policy %s a session that submits one task stays active for its other claims',
    async (stale_policy) => {
      const { harness, coordinator, countActiveSessions } = await openWithPlan();
      await coordinator.settings.putPolicy(PROJECT_KEY, { stale_policy, max_hold_seconds: null });
      const alpha = new HarnessAgent(harness, 'alpha', 's1');
      await alpha.claim(A);
      await alpha.claim(B);
      await alpha.submit(B);
      harness.advance(900);
      expect(await countActiveSessions()).toBe(stale_policy === 'hold' ? 1 : 0);
    },
  );

  test.each(['partial', 'all_or_nothing'])(
    'the longest lease of a %s batch keeps a session active',
    async (mode) => {
      const { harness, coordinator, countActiveSessions } = await openWithPlan();
      const claims = [3600, 30].map((lease_duration_seconds, index) => ({
        task_id: [A, B][index],
        agent_id: 'alpha',
        session_id: 's1',
        lease_duration_seconds,
      }));
      await coordinator.claims.batchClaim(PROJECT_KEY, { claims, mode });
      harness.advance(3599);
      expect(await countActiveSessions()).toBe(1);
      harness.advance(1);
      expect(await countActiveSessions()).toBe(0);
    },
  );

  test('a session that loses its only task by a reassignment becomes idle after session_idle_seconds', async () => {
    const { harness, coordinator, countActiveSessions } = await openWithPlan({ max_active_sessions: 2 });
    await coordinator.settings.putPolicy(PROJECT_KEY, { stale_policy: 'hold', max_hold_seconds: null });
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim(A);
    const to = { expected_generation: 1, reason: 'gone', agent_id: 'beta', session_id: 's2' };
    expect(await coordinator.decisions.operate(PROJECT_KEY, A, 'reassign', to)).toMatchObject({
      success: true,
    });
    expect(await countActiveSessions()).toBe(2);
    harness.advance(900);
    expect(await countActiveSessions()).toBe(1);
    expect(await new HarnessAgent(harness, 'gamma', 's3').claim(B)).toMatchObject({ success: true });
  });

  test('a session with a claim under an earlier policy becomes idle once the claim has expired', async () => {
    const { harness, coordinator, countActiveSessions } = await openWithPlan();
    await coordinator.settings.putPolicy(PROJECT_KEY, { stale_policy: 'hold', max_hold_seconds: null });
    await new HarnessAgent(harness, 'alpha', 's1').claim(A);
    await coordinator.settings.putPolicy(PROJECT_KEY, { stale_policy: 'takeover' });
    harness.advance(1000);
    await coordinator.sweep();
    harness.advance(900);
    expect(await countActiveSessions()).toBe(0);
  });

  test('an expiry that the sweeper writes does not keep a session active', async () => {
    const { harness, coordinator, countActiveSessions } = await openWithPlan();
    await new HarnessAgent(harness, 'alpha', 's1').claim(A, { lease_duration_seconds: 60 });
    harness.advance(600);
    expect(await coordinator.sweep()).toBe(1);
    harness.advance(300);
    expect(await countActiveSessions()).toBe(0);
  });

  test('closing a session releases its permit at once', async () => {
    const { harness, coordinator, countActiveSessions } = await openWithPlan();
    await new HarnessAgent(harness, 'alpha', 's1').claim(A);
    await coordinator.sessions.close('acme', 's1');
    expect(await countActiveSessions()).toBe(0);
  });
});
