import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import {
  CoordinatorHarness,
  forEachStore,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import type { TaskClaim } from '../../core/contract/claim-records.js';
import type { ExpiredClaimsQuery } from '../../core/contract/overview.js';

const [A, B] = ['A-001-core', 'B-001-data'] as const;

forEachStore('the views', (open) => {
  async function openWithPlan() {
    const harness = await open();
    await harness.plan(planOf(A, { id: B, depends_on: [A] }));
    return {
      harness,
      alpha: new HarnessAgent(harness, 'alpha', 's1'),
      beta: new HarnessAgent(harness, 'beta', 's2'),
    };
  }

  // req: PRJ-005, QRY-006
  test('report the state of the project at the position they name', async () => {
    const { harness, alpha } = await openWithPlan();
    await alpha.claim(A);
    expect(await harness.coordinator.queries.status(PROJECT_KEY)).toMatchObject({
      tenant_id: 'acme',
      project_id: 'shop',
      position: 3,
      last_updated: '2026-01-04T06:00:00.000Z',
      counts: { claimed: 1, blocked: 1, ready: 0, completed: 0 },
      tracks: {
        A: { completed: 0, in_progress: 1, pending: 0 },
        B: { completed: 0, in_progress: 0, pending: 1 },
      },
      claims: [{ task_id: A, agent_id: 'alpha', generation: 1 }],
      waiting: [],
      parked: [],
    });
  });

  // req: EVT-014
  test('report the state at an earlier position, regardless of later events', async () => {
    const { harness, alpha, beta } = await openWithPlan();
    await alpha.claim(A);
    const { queries } = harness.coordinator;
    const position = await harness.position();
    const earlierReplies = {
      status: await queries.status(PROJECT_KEY),
      agents: await queries.agents(PROJECT_KEY),
    };
    harness.advance(3600);
    await beta.claim(A);
    await beta.submit(A);
    unwrap(await harness.coordinator.settings.putPolicy(PROJECT_KEY, { stale_policy: 'hold' }));
    expect(await queries.agents(PROJECT_KEY, position)).toEqual(earlierReplies.agents);
    expect(await queries.status(PROJECT_KEY, position)).toEqual(earlierReplies.status);
    expect(unwrap(await queries.status(PROJECT_KEY)).counts).toMatchObject({ completed: 1, ready: 1 });
    expect(unwrap(await queries.status(PROJECT_KEY, 1)).counts).toMatchObject({ ready: 1, blocked: 1 });
  });

  // req: EVT-015, PRJ-004
  test('of tasks, results and the plan report the state at an earlier position', async () => {
    const { harness, alpha, beta } = await openWithPlan();
    const { queries, plans } = harness.coordinator;
    await alpha.claim(A);
    const at = await harness.position();
    const readAll = async (query: { at?: number }) => ({
      tasks: unwrap(await queries.listTasks(PROJECT_KEY, query)),
      task: unwrap(await queries.getTaskState(PROJECT_KEY, A, query)),
      history: unwrap(await queries.getClaimHistory(PROJECT_KEY, A, query)),
      results: unwrap(await queries.listResults(PROJECT_KEY, A, query)),
      plan: unwrap(await plans.get(PROJECT_KEY, query)),
    });
    const earlierReplies = await readAll({});
    harness.advance(3600);
    await beta.claim(A);
    await beta.submit(A);
    await harness.plan(planOf(A, B, 'C-001-more'));
    expect(await readAll({ at })).toEqual(earlierReplies);
    expect(await readAll({})).not.toEqual(earlierReplies);
    const later = { at: (await harness.position()) + 1 };
    for (const reply of [
      await queries.listTasks(PROJECT_KEY, later),
      await queries.getTaskState(PROJECT_KEY, A, later),
      await queries.getClaimHistory(PROJECT_KEY, A, later),
      await queries.listResults(PROJECT_KEY, A, later),
      await plans.get(PROJECT_KEY, later),
      await queries.expiredClaims(PROJECT_KEY, later),
    ])
      expect(reply).toMatchObject({ problem: 'CURSOR_AHEAD' });
    expect(await queries.getTaskState(PROJECT_KEY, 'C-001-more', { at })).toMatchObject({
      problem: 'NOT_FOUND',
    });
  });

  // req: QRY-009
  test('list the claims whose lease has ended before a time, until someone takes over', async () => {
    const { harness, alpha, beta } = await openWithPlan();
    const { queries } = harness.coordinator;
    const EDGE = 'REQ-F-1#design_code';
    const listExpired = async (query: ExpiredClaimsQuery = {}) =>
      unwrap(await queries.expiredClaims(PROJECT_KEY, query));
    const idsOf = ({ claims }: { claims: readonly TaskClaim[] }) => claims.map(({ task_id }) => task_id);
    const { claim } = await alpha.claim(A, { lease_duration_seconds: 60 });
    await alpha.claim(EDGE, { lease_duration_seconds: 60 });
    harness.advance(60);
    const end = claim?.expires_at ?? '';
    expect(await listExpired()).toMatchObject({ claims: [], next: null });
    harness.advance(1);
    // The lease of an edge has ended too, though no agent may take it over.
    expect(idsOf(await listExpired())).toEqual([A, EDGE]);
    expect((await listExpired()).claims).toMatchObject([{ state: 'EXPIRED' }, { state: 'ACTIVE' }]);
    expect(idsOf(await listExpired({ before: end }))).toEqual([]);
    const first = await listExpired({ limit: 1 });
    expect([idsOf(first), first.next]).toEqual([[A], A]);
    expect(await listExpired({ limit: 1, after: A })).toMatchObject({
      claims: [{ task_id: EDGE }],
      next: null,
    });
    await harness.coordinator.sweep();
    expect(idsOf(await listExpired())).toEqual([A, EDGE]);
    const at = await harness.position();
    await beta.claim(A);
    expect(idsOf(await listExpired())).toEqual([EDGE]);
    await beta.release(A);
    harness.advance(3600);
    expect(idsOf(await listExpired())).toEqual([EDGE]);
    expect(idsOf(await listExpired({ at }))).toEqual([A, EDGE]);
  });

  test('are the same after a restart', async () => {
    const { harness, alpha, beta } = await openWithPlan();
    await alpha.claim(A);
    harness.advance(301);
    await beta.claim(A);
    await alpha.submit(A);
    await beta.submit(A);
    const readViews = async () => {
      const { queries } = harness.coordinator;
      return [
        await queries.status(PROJECT_KEY),
        await queries.agents(PROJECT_KEY),
        await queries.listTasks(PROJECT_KEY),
        await queries.getClaimHistory(PROJECT_KEY, A),
        await harness.coordinator.sessions.get('acme', 's1'),
      ];
    };
    const before = await readViews();
    await harness.restart();
    expect(await readViews()).toEqual(before);
  });

  test('show an expired lease at once, without the sweeper', async () => {
    const { harness, alpha } = await openWithPlan();
    await alpha.claim(A);
    harness.advance(300);
    const status = unwrap(await harness.coordinator.queries.status(PROJECT_KEY));
    expect([status.claims, status.counts.ready]).toEqual([[], 1]);
  });
});

test('two coordinators over one store report the same state of a project', async () => {
  const harness = await CoordinatorHarness.open('memory');
  const other = await harness.openAnother();
  await harness.plan(planOf(A, B));
  await new HarnessAgent(harness, 'alpha', 's1').claim(A);
  expect(await other.queries.getTaskState(PROJECT_KEY, A)).toEqual(
    await harness.coordinator.queries.getTaskState(PROJECT_KEY, A),
  );
  expect(await other.queries.status(PROJECT_KEY)).toEqual(
    await harness.coordinator.queries.status(PROJECT_KEY),
  );
  const submitted = await other.holder.submitResult(PROJECT_KEY, {
    task_id: A,
    session_id: 's1',
    generation: 1,
    result_data: 1,
  });
  expect(submitted).toMatchObject({ accepted: true });
  expect(unwrap(await harness.coordinator.queries.getTaskState(PROJECT_KEY, A)).phase).toBe('COMPLETED');
});
