/**
 * Who: a caller with read access only, for instance a viewer of one tenant, with thirty connections.
 *
 * What they want: to stop all work by requesting the largest views again and again: the memory of a session with a
 * hundred thousand events, the state of a project at each position of its log, all tasks of a plan with a million
 * parts.
 *
 * What stops them: each list in a reply has at most 1,000 items and about 4 MiB, and says how to continue or how much
 * is left out. At most four slow reads run at a time, tenants in turn (`src/coordinator/queries/read-scheduler.ts`),
 * and each holds the event loop for a few milliseconds at a time. More than 100 waiting reads of a tenant are refused
 * with 503.
 *
 * The tests compare the order of replies, never durations.
 */

import { describe, expect, test } from 'vitest';
import { Coordinator } from '../../src/coordinator/coordinator.js';
import { LatestItems, PAGE_CHARS_MAX } from '../../src/coordinator/queries/page.js';
import { ReadScheduler } from '../../src/coordinator/queries/read-scheduler.js';
import { systemEnvironment } from '../../src/coordinator/runtime/environment.js';
import { isProblem } from '../../src/coordinator/wire/problem.js';
import { PAGE_MAX } from '../../src/core/contract/schema.js';
import { ROUTES } from '../../src/server/routes.js';
import { PROJECT_URL, TENANT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { openMemoryStore } from '../../src/stores/memory/memory-store.js';
import { planOf, unwrap } from '../support/coordinator-harness.js';

const projectKey = { tenant_id: 'acme', project_id: 'shop' };
const READERS = 30;
const CALLS = 5;
const TASKS = 510;
const taskId = (at: number): string => `A-${String(at).padStart(3, '0')}-x`;

/** Every reading of this clock ends a slice, so that slices do not depend on the speed of the machine. */
function steppingEnvironment() {
  let nowMs = 0;
  const monotonicMs = () => {
    nowMs += 10;
    return nowMs;
  };
  return { ...systemEnvironment, clock: { ...systemEnvironment.clock, monotonicMs } };
}

/** Creates a session that has claimed many tasks and renewed each of them. */
async function busyProject(): Promise<Coordinator> {
  const limits = { max_concurrent_claims: 10_000 };
  const coordinator = await Coordinator.open({
    store: openMemoryStore(),
    environment: steppingEnvironment(),
    limits,
  });
  const ids = Array.from({ length: TASKS }, (_, index) => taskId(index + 1));
  const tasks = ids.map((id) => ({ id, description: 'd', depends_on: [] }));
  await coordinator.plans.put(projectKey, { tracks: { A: tasks } });
  const claims = ids.map((task_id) => ({ task_id, agent_id: 'a', session_id: 's' }));
  for (const claim of claims) await coordinator.claims.claimTask(projectKey, claim);
  const items = ids.map((task_id) => ({ task_id, session_id: 's', expected_generation: 1 }));
  await coordinator.holder.renewBatch(projectKey, { items });
  return coordinator;
}

/** A read of the test's project. `end`: the position of the last event. */
type ProjectRead = (coordinator: Coordinator, end: number) => Promise<object>;
const READS: readonly (readonly [string, ProjectRead])[] = [
  ['the status of a project', ({ queries }) => queries.status(projectKey)],
  ['the status of a project at the end of its log', ({ queries }, end) => queries.status(projectKey, end)],
  ['the agents at the end of the log', ({ queries }, end) => queries.agents(projectKey, end)],
  [
    'the tasks at the end of the log',
    ({ queries }, at) => queries.listTasks(projectKey, { limit: 1000, at }),
  ],
  ['the expired claims', ({ queries }) => queries.expiredClaims(projectKey)],
  ['the newest events', ({ feed }) => feed.recentPage(projectKey, { limit: 1000 })],
  ['the events of an agent', ({ feed }) => feed.agentPage('acme', { agent_id: 'a', limit: 1000 })],
  ['all tasks', ({ queries }) => queries.listTasks(projectKey, { limit: 1000 })],
  [
    'tasks with a filter that matches none',
    ({ queries }) => queries.listTasks(projectKey, { readiness: 'held' }),
  ],
  [
    'a thousand tasks by id',
    ({ queries }) => queries.batchGetStates(projectKey, Array(1000).fill(taskId(1))),
  ],
  ['the memory of a session', ({ sessions }) => sessions.get('acme', 's')],
  ['the claims of a session', ({ sessions }) => sessions.claimsOf('acme', 's')],
];

describe('a renewal is not delayed by thirty readers of', () => {
  test.each(READS)('%s', async (_, read) => {
    const coordinator = await busyProject();
    const { position } = unwrap(await coordinator.queries.status(projectKey));
    const order: string[] = [];
    const readers = Array.from({ length: READERS }, async () => {
      order.push(isProblem(await read(coordinator, position)) ? 'refused' : 'read');
    });
    const renewal = { task_id: taskId(1), session_id: 's', expected_generation: 1 };
    for (let call = 0; call < CALLS; call += 1) {
      expect(await coordinator.holder.renewLease(projectKey, renewal)).toMatchObject({ success: true });
      order.push('renewed');
    }
    await Promise.all(readers);
    expect(order).not.toContain('refused');
    expect(order.at(-1)).toBe('read');
    coordinator.close();
  });
});

describe('the read scheduler', () => {
  test('serves tenants in turn, and refuses reads beyond the queue limit of a tenant', async () => {
    const scheduler = new ReadScheduler(systemEnvironment, { running_max: 1, queued_max: 2 });
    const order: string[] = [];
    const read = async (tenant_id: string) => {
      const reply = await scheduler.run(tenant_id, async () => ({ tenant_id }));
      order.push(isProblem(reply) ? `${tenant_id} ${reply.problem}` : tenant_id);
    };
    await Promise.all([read('a'), read('a'), read('a'), read('a'), read('b')]);
    expect(order.sort()).toEqual(['a', 'a', 'a', 'a UNAVAILABLE', 'b']);
  });

  test('continues after a failed read', async () => {
    const scheduler = new ReadScheduler(systemEnvironment, { running_max: 1, queued_max: 1 });
    const failed = scheduler.run('a', () => Promise.reject(new Error('no store')));
    const next = scheduler.run('a', async () => ({ read: true }));
    await expect(failed).rejects.toThrow('no store');
    expect(await next).toEqual({ read: true });
  });
});

describe('a list in a reply', () => {
  test('keeps the latest items within its bounds and counts the others', () => {
    const latest = new LatestItems<number>(3);
    for (const item of [1, 2, 3, 4, 5]) latest.push(item);
    expect([latest.items, latest.omitted]).toEqual([[3, 4, 5], 2]);
    const large = new LatestItems<number>();
    for (const item of [1, 2, 3]) large.push(item, PAGE_CHARS_MAX - 1);
    expect([large.items, large.omitted]).toEqual([[3], 2]);
  });

  test('of a session states how many older entries it omits', async () => {
    const coordinator = await busyProject();
    const memory = await coordinator.sessions.get('acme', 's');
    if (isProblem(memory)) throw new Error(memory.detail);
    expect(memory.task_log).toHaveLength(PAGE_MAX);
    expect(memory.omitted?.task_log).toBe(2 * TASKS - PAGE_MAX);
    const short = await coordinator.sessions.get('acme', 's', { limit: 2 });
    expect(short).toMatchObject({ task_log: [{}, {}], active_claims: [{}, {}] });
    expect(short).toMatchObject({ omitted: { active_claims: TASKS - 2 } });
    coordinator.close();
  });

  test('can be read to its end page by page, each item once', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan('A-001-x', 'A-002-x', 'A-003-x', 'A-004-x', 'A-005-x');
    for (let at = 1; at <= 5; at += 1) {
      await testServer.claim(taskId(at), `s${at}`, { agent_id: `agent-${at}` });
    }
    await testServer.claim('A-001-x', 's1', {}).catch(() => {});
    await testServer.request('PUT', `${TENANT_URL}/projects/other/plan`, planOf('A-001-x'));
    const other = { session_id: 's9', user_id: 'u', project_id: 'other' };
    expect((await testServer.post(`${TENANT_URL}/sessions`, other)).status).toBe(200);
    for (const [path, name] of [
      [`${TENANT_URL}/sessions`, 'sessions'],
      [`${PROJECT_URL}/agents`, 'agents'],
      [`${TENANT_URL}/projects`, 'projects'],
      [`${PROJECT_URL}/tasks`, 'tasks'],
    ] as const) {
      const whole = (await testServer.get(path)).body;
      expect(whole.next).toBeNull();
      const parts: object[] = [];
      for (let after: string | null = ''; after !== null; ) {
        const query: string = after === '' ? 'limit=2' : `limit=2&after=${encodeURIComponent(after)}`;
        const page = (await testServer.get(`${path}?${query}`)).body;
        expect(page[name].length).toBeLessThanOrEqual(2);
        parts.push(...page[name]);
        after = page.next;
      }
      expect(parts).toEqual(whole[name]);
    }
  });
});

/** The bound on the reply of each read route. Every new read route must be listed here with its bound. */
const BOUNDS: Readonly<Record<string, string>> = {
  list_sessions: 'a page',
  get_session: 'the latest 1,000 of each list, and their number',
  get_active_claims_for_session: 'a page',
  get_limits: 'one record',
  get_policy: 'one record',
  status: 'lists of 1,000, computed in slices',
  agents: 'a page, computed in slices',
  list_expired_claims: 'a page, computed in slices',
  recent_events: '1,000 events or 4 MiB and a window of 100 events, at most 10,000 positions searched',
  agent_events: '1,000 events or 4 MiB, at most 100 projects searched',
  list_projects: 'a page',
  whoami: 'the table of routes',
  list_tasks: 'a page, at most 20,000 tasks scanned',
  get_task_state: 'one task',
  get_claim_history: 'the latest 1,000 of each list, and their number',
  list_results: 'a page of 1,000 or 4 MiB',
  get_result: 'one result',
  explain: 'one task',
  get_blob: 'max_result_size_bytes',
  events: 'a page of 1,000 or 4 MiB',
  audit_head: 'the checkpoints since the last read',
  audit_proof: 'two tiles of 256 events, and the checkpoints and redactions since the last read',
  audit_consistency: 'two tiles of 256 events, and the checkpoints and redactions since the last read',
  audit_keys: 'the keys that were ever enrolled, and the checkpoints since the last read',
  events_stream: 'the backlog limit of a slow reader',
  get_plan: 'the size limit of plans; one turn',
  list_keys: 'a page',
  list_runners: 'at most 50 runners',
  list_candidates: 'a page; the limit of concurrent claims, one turn',
  list_runs: 'one page, at most 20,000 runs scanned, computed in slices',
  get_run: '1,000 steps or 4 MiB; the events of one edge',
  runs_spent: 'the sums of 1,000 features; the new run events of the tenant, every 10 seconds',
  methodology_status: 'the features of a workspace; one turn',
  zoom: 'the features of a workspace; one turn',
  trace: 'the features of a workspace; one turn',
  pending_reviews: 'the limit of concurrent claims; one turn',
  known_gaps: 'the keys of one gap report; one turn',
  healthz: 'a word',
  readyz: 'a word',
  metrics: 'the active projects',
  openapi: 'the table of routes',
  docs: 'the table of routes',
  review_link: 'one review, its files limited to 100',
  page: 'a file',
  page_asset: 'a file',
  page_style: 'a file',
};

test('every read route has a bound', () => {
  const readRouteIds = ROUTES.filter(({ method }) => method === 'GET').map(({ id }) => id);
  expect(readRouteIds.filter((id) => BOUNDS[id] === undefined)).toEqual([]);
  for (const { id, query } of ROUTES) {
    if (BOUNDS[id]?.startsWith('a page'))
      expect([id, query?.safeParse({ limit: '1' }).success]).toEqual([id, true]);
  }
});
