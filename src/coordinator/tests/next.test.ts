import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import {
  type CoordinatorHarness,
  forEachStore,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { OPEN_CALLER } from '../authentication/caller.js';

/** Lets everything run that is ready to run. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

async function settleOnDisk(harness: CoordinatorHarness): Promise<void> {
  // A project's commands keep their order, so everything sent before this one is answered before it.
  await harness.coordinator.claims.claimTask(PROJECT_KEY, {
    task_id: 'Q-999-none',
    agent_id: 'x',
    session_id: 'x',
  });
  await settle();
}

forEachStore('next', (open) => {
  async function openWithPlan(plan: unknown, limits = {}) {
    const harness = await open({ limits });
    await harness.plan(plan);
    const [alpha, beta] = [new HarnessAgent(harness, 'alpha', 's1'), new HarnessAgent(harness, 'beta', 's2')];
    return { harness, coordinator: harness.coordinator, alpha, beta };
  }
  const takeNextTask = async (agent: HarnessAgent, options = {}) =>
    (await agent.next(options)).claim?.task_id;

  // req: RTE-004, RTE-005
  test('orders tasks by priority, then by how many they unblock, then by track and sequence', async () => {
    const { alpha } = await openWithPlan(
      planOf(
        'A-001-plain',
        'A-002-plain',
        'A-003-key',
        { id: 'A-004-urgent', priority: 5 },
        { id: 'A-005-blocked', depends_on: ['A-003-key'], priority: 9 },
      ),
    );
    const order = [];
    for (let turn = 0; turn < 4; turn += 1) order.push(await takeNextTask(alpha));
    expect(order).toEqual(['A-004-urgent', 'A-003-key', 'A-001-plain', 'A-002-plain']);
    expect(await alpha.next()).toMatchObject({ success: false, reason: 'NOTHING_READY', claim: null });
  });

  // req: RTE-001, RTE-002
  test('prefers tracks the agent has worked in, then tracks without other agents', async () => {
    const { harness, alpha, beta } = await openWithPlan(
      planOf('A-001-x', 'A-002-x', 'B-001-x', 'B-002-x', { id: 'C-001-x', priority: -1 }),
    );
    await beta.claim('B-001-x');
    await beta.submit('B-001-x');
    expect(await takeNextTask(beta)).toBe('B-002-x');
    expect(await takeNextTask(alpha)).toBe('A-001-x');
    const gamma = new HarnessAgent(harness, 'gamma', 's3');
    expect(await takeNextTask(gamma)).toBe('C-001-x');
    expect(await takeNextTask(beta)).toBe('A-002-x');
  });

  test('reports when there is nothing to wait for', async () => {
    const { alpha, beta } = await openWithPlan(planOf('A-001-x', 'B-001-x'));
    await alpha.claim('A-001-x');
    const waits = await beta.next({ track: 'A' });
    expect(waits).toMatchObject({ done: false });
    expect(waits.next).toContain('wait_seconds');
    await alpha.submit('A-001-x');
    const nothing = { reason: 'NOTHING_READY', waiting_for: [] };
    expect(await alpha.next({ track: 'A' })).toMatchObject({
      ...nothing,
      done: true,
      next: 'Every task in track A is completed. Do not wait.',
    });
    expect(await alpha.next({ track: 'C' })).toMatchObject({
      ...nothing,
      done: false,
      next: 'There is no task in track C. Do not wait: add one first (gen task add).',
    });
    await alpha.claim('B-001-x');
    expect(await beta.next()).toMatchObject({ done: false });
    await alpha.submit('B-001-x');
    const done = await alpha.next();
    expect(done).toMatchObject({ done: true });
    expect(done.next).toContain('Every task in the plan is completed');
  });

  test('says so if all open tasks wait for a person, or for the end of a retry pause', async () => {
    const { harness, alpha, beta } = await openWithPlan(planOf('A-001-x', 'B-001-x'));
    await alpha.claim('A-001-x');
    await alpha.release('A-001-x', { reason: 'ERROR', message: 'it broke' });
    const hold = { expected_generation: 0, reason: 'wait' };
    unwrap(await harness.coordinator.decisions.operate(PROJECT_KEY, 'B-001-x', 'hold', hold));
    expect((await beta.next()).next).toMatch(/The last attempt at A-001-x failed\. .* at 2026-/);
    unwrap(
      await harness.coordinator.decisions.operate(PROJECT_KEY, 'A-001-x', 'hold', {
        ...hold,
        expected_generation: 1,
      }),
    );
    expect((await beta.next()).next).toBe(
      'A person must act before other work can start: A-001-x (on hold), B-001-x (on hold). What to do: gen task explain A-001-x',
    );
  });

  test('stays in the requested track', async () => {
    const { alpha, beta } = await openWithPlan(planOf('A-001-x', 'B-001-x'));
    expect(await takeNextTask(alpha, { track: 'B' })).toBe('B-001-x');
    expect(await beta.next({ track: 'B' })).toMatchObject({
      reason: 'NOTHING_READY',
      waiting_for: ['B-001-x'],
    });
  });

  test('lists the blocking tasks when nothing is ready', async () => {
    const { alpha, beta, coordinator } = await openWithPlan(
      planOf('A-001-x', 'B-001-x', { id: 'C-001-x', depends_on: ['A-001-x'] }),
    );
    await coordinator.decisions.operate(PROJECT_KEY, 'B-001-x', 'hold', {
      expected_generation: 0,
      reason: 'wait',
    });
    await alpha.claim('A-001-x');
    const nothing = await beta.next();
    expect(nothing).toMatchObject({ reason: 'NOTHING_READY', waiting_for: ['A-001-x', 'B-001-x'] });
    expect(nothing.next).toContain('wait_seconds');
  });

  test('does not tell a session to wait for work that it holds itself', async () => {
    const { alpha } = await openWithPlan(
      planOf('A-001-x', 'B-001-x', { id: 'C-001-x', depends_on: ['A-001-x', 'B-001-x'] }),
    );
    await alpha.claim('A-001-x');
    await alpha.claim('B-001-x');
    const nothing = await alpha.next();
    expect(nothing).toMatchObject({ reason: 'NOTHING_READY', waiting_for: [] });
    expect(nothing.next).toContain('Your session holds A-001-x and 1 more.');
    const blocked = await alpha.claim('C-001-x');
    expect(blocked).toMatchObject({ reason: 'DENIED_DEPENDENCIES', waiting_for: ['A-001-x', 'B-001-x'] });
    expect(blocked.next).toContain('Your session holds A-001-x and 1 more.');
    const again = await alpha.claim('A-001-x');
    expect(again).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM' });
    expect(again.next).toContain('resume: true');
  });

  test('never grants one task to two concurrent callers', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => `A-${String(index + 1).padStart(3, '0')}-x`);
    const { harness } = await openWithPlan(planOf(...ids));
    const agents = Array.from(
      { length: 40 },
      (_, index) => new HarnessAgent(harness, `a-${index}`, `s-${index}`),
    );
    const replies = await Promise.all(agents.map((agent) => agent.next()));
    const granted = replies.flatMap((reply) => reply.claim?.task_id ?? []);
    expect(granted.sort()).toEqual(ids);
  });

  // req: RTE-003
  test('skips full tracks if agents per track are limited, even tracks in which the agent has worked', async () => {
    const { alpha, beta, coordinator } = await openWithPlan(
      planOf('A-001-x', 'A-002-x', 'A-003-x', 'A-004-x', 'B-001-x'),
    );
    unwrap(await coordinator.settings.putPolicy(PROJECT_KEY, { max_agents_per_track: 1 }));
    await alpha.claim('A-001-x');
    expect(await beta.claim('A-002-x')).toMatchObject({
      reason: 'DENIED_LIMIT',
      limit: 'max_agents_per_track',
    });
    expect((await alpha.claim('A-002-x')).reason).toBe('GRANTED');
    await alpha.submit('A-001-x');
    expect((await beta.claim('A-003-x')).reason).toBe('DENIED_LIMIT');
    await alpha.submit('A-002-x');
    expect((await beta.claim('A-003-x')).reason).toBe('GRANTED');
    expect(await takeNextTask(alpha)).toBe('B-001-x');
  });

  test('never exceeds max_agents_per_track under concurrent calls', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => `A-${String(index + 1).padStart(3, '0')}-x`);
    const { harness, coordinator } = await openWithPlan(planOf(...ids, 'B-001-x'));
    unwrap(await coordinator.settings.putPolicy(PROJECT_KEY, { max_agents_per_track: 3 }));
    const agents = ids.map((_, index) => new HarnessAgent(harness, `a-${index}`, `s-${index}`));
    const replies = await Promise.all(agents.map((agent) => agent.next()));
    const tracks = replies.flatMap((reply) => reply.claim?.track ?? []).sort();
    expect(tracks).toEqual(['A', 'A', 'A', 'B']);
  });

  test('waits for a submission that makes a task ready', async () => {
    const { harness, alpha, beta } = await openWithPlan(
      planOf('A-001-x', { id: 'A-002-x', depends_on: ['A-001-x'] }),
    );
    await alpha.claim('A-001-x');
    const waiting = beta.next({ wait_seconds: 30 });
    await settleOnDisk(harness);
    await alpha.submit('A-001-x');
    expect((await waiting).claim?.task_id).toBe('A-002-x');
  });

  test('does not miss a task that becomes ready in the batch that found none', async () => {
    const { harness, alpha, beta } = await openWithPlan(
      planOf('A-001-x', { id: 'A-002-x', depends_on: ['A-001-x'] }),
    );
    await alpha.claim('A-001-x');
    for (let turns = 0; turns < 12; turns += 1) {
      const waiting = beta.next({ wait_seconds: 30 });
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      if (turns > 5) await new Promise((resolve) => setImmediate(resolve));
      await alpha.submit('A-001-x', { turns });
      expect((await waiting).claim?.task_id).toBe('A-002-x');
      await beta.release('A-002-x');
      await harness.coordinator.decisions.operate(PROJECT_KEY, 'A-001-x', 'reset', {
        expected_generation: turns + 1,
        reason: 'again',
      });
      await alpha.claim('A-001-x');
    }
  });

  test('waits for a lease to expire, without the sweeper', async () => {
    const { harness, alpha, beta } = await openWithPlan(planOf('A-001-x'));
    await alpha.claim('A-001-x', { lease_duration_seconds: 30 });
    const waiting = beta.next({ wait_seconds: 30 });
    await settleOnDisk(harness);
    harness.advance(30);
    harness.environment.runDueTimers();
    expect((await waiting).claim).toMatchObject({ task_id: 'A-001-x', generation: 2, agent_id: 'beta' });
  });

  test('waits for the backoff after an error to end', async () => {
    const { harness, alpha, beta } = await openWithPlan(planOf('A-001-x'));
    await alpha.claim('A-001-x');
    await alpha.release('A-001-x', { reason: 'ERROR', message: 'boom' });
    const waiting = beta.next({ wait_seconds: 30 });
    await settleOnDisk(harness);
    harness.advance(5);
    harness.environment.runDueTimers();
    expect((await waiting).claim?.generation).toBe(2);
  });

  test('returns NOTHING_READY when the wait time is over', async () => {
    const { harness, alpha, beta } = await openWithPlan(planOf('A-001-x'));
    await alpha.claim('A-001-x');
    const waiting = beta.next({ wait_seconds: 2 });
    await settleOnDisk(harness);
    harness.advance(2);
    harness.environment.runDueTimers();
    expect(await waiting).toMatchObject({ reason: 'NOTHING_READY', waiting_for: ['A-001-x'] });
  });

  test('does not wait when the plan is completed', async () => {
    const { alpha, beta } = await openWithPlan(planOf('A-001-x'));
    await alpha.claim('A-001-x');
    const waiting = beta.next({ wait_seconds: 30 });
    await alpha.submit('A-001-x');
    expect(await waiting).toMatchObject({ reason: 'NOTHING_READY', waiting_for: [] });
    expect(await beta.next({ wait_seconds: 30 })).toMatchObject({ reason: 'NOTHING_READY' });
  });

  test('grants a task that becomes ready to one waiter, and the others keep waiting', async () => {
    const { harness, alpha } = await openWithPlan(
      planOf('A-001-x', { id: 'A-002-x', depends_on: ['A-001-x'] }),
    );
    await alpha.claim('A-001-x');
    const agents = Array.from(
      { length: 5 },
      (_, index) => new HarnessAgent(harness, `a-${index}`, `w-${index}`),
    );
    const waiting = agents.map((agent) => agent.next({ wait_seconds: 30 }));
    await settleOnDisk(harness);
    await alpha.submit('A-001-x');
    await settleOnDisk(harness);
    harness.advance(30);
    harness.environment.runDueTimers();
    const replies = await Promise.all(waiting);
    expect(replies.map((reply) => reply.reason).sort()).toEqual([
      'GRANTED',
      'NOTHING_READY',
      'NOTHING_READY',
      'NOTHING_READY',
      'NOTHING_READY',
    ]);
  });

  test('grants nothing to a caller that disconnected', async () => {
    const { harness, coordinator, alpha } = await openWithPlan(planOf('A-001-x'));
    await alpha.claim('A-001-x');
    const disconnectController = new AbortController();
    const body = { agent_id: 'beta', session_id: 's2', wait_seconds: 30 };
    const waiting = coordinator.claims.next(PROJECT_KEY, body, OPEN_CALLER, disconnectController.signal);
    await settleOnDisk(harness);
    disconnectController.abort();
    expect(await waiting).toMatchObject({ success: false, reason: 'NOTHING_READY' });
    await alpha.release('A-001-x');
    expect(unwrap(await coordinator.queries.getTaskState(PROJECT_KEY, 'A-001-x'))).toMatchObject({
      readiness: 'ready',
      generation: 1,
    });
  });
});
