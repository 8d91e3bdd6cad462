import { expect, onTestFinished, test } from 'vitest';
import {
  CoordinatorHarness,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import type { ClaimResult } from '../../core/contract/claim-replies.js';

const WAITING = 50;
const [HELD, OTHER] = ['A-001-x', 'A-002-x'];
const handleOf = (task_id: string) => ({ task_id, session_id: 's0', expected_generation: 1 });

/** One session holds all work, other sessions wait, and no timer fires. `nextCallCount` counts the `next` operations. */
async function openWaiters() {
  let nextCalls = 0;
  const observer = {
    answered: (_: unknown, kind: string) => {
      if (kind === 'next') nextCalls += 1;
    },
    committed: () => {},
    stepCommitted: () => {},
    flushed: () => {},
  };
  const { coordinator } = await CoordinatorHarness.open('memory', { observer });
  const waitController = new AbortController();
  onTestFinished(() => {
    waitController.abort();
    coordinator.close();
  });
  unwrap(await coordinator.plans.put(PROJECT_KEY, planOf(HELD, OTHER)));
  for (const task_id of [HELD, OTHER]) {
    unwrap(
      await coordinator.claims.claimTask(PROJECT_KEY, { task_id, agent_id: 'holder', session_id: 's0' }),
    );
  }
  const waiting = Array.from({ length: WAITING }, (_, index) => {
    const who = { agent_id: `a${index}`, session_id: `w${index}`, wait_seconds: 30 };
    return coordinator.claims.next(
      PROJECT_KEY,
      who,
      undefined,
      waitController.signal,
    ) as Promise<ClaimResult>;
  });
  while (nextCalls < WAITING) await settle();
  await settle();
  return { coordinator, waiting, nextCallCount: () => nextCalls, leave: () => waitController.abort() };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

test('a waiter is refused at once when its session is closed, and no other waiter is woken', async () => {
  const { coordinator, waiting, nextCallCount, leave } = await openWaiters();
  unwrap(
    await coordinator.sessions.open(PROJECT_KEY.tenant_id, {
      project_id: PROJECT_KEY.project_id,
      session_id: 'w7',
      user_id: 'u',
    }),
  );
  unwrap(await coordinator.sessions.close(PROJECT_KEY.tenant_id, 'w7'));
  expect(await waiting[7]).toMatchObject({ success: false, reason: 'SESSION_CLOSED' });
  await settle();
  expect(nextCallCount()).toBe(WAITING + 1);
  leave();
});

test('a change that makes no task ready wakes no waiter, and a ready task wakes one waiter', async () => {
  const { coordinator, waiting, nextCallCount, leave } = await openWaiters();
  for (let turn = 0; turn < 20; turn += 1)
    unwrap(await coordinator.holder.renewLease(PROJECT_KEY, handleOf(HELD)));
  await settle();
  expect(nextCallCount()).toBe(WAITING);
  unwrap(await coordinator.holder.releaseClaim(PROJECT_KEY, handleOf(HELD)));
  const first = await Promise.race(waiting);
  expect(first.claim?.task_id).toBe(HELD);
  await settle();
  expect(nextCallCount()).toBe(WAITING + 1);
  leave();
  const refusals = (await Promise.all(waiting)).filter(({ success }) => !success);
  expect(refusals.length).toBe(WAITING - 1);
});

test('a task that the first waiter cannot claim wakes the next waiter', async () => {
  const { coordinator, waiting } = await openWaiters();
  const openIndex = WAITING / 2;
  for (let index = 0; index < WAITING; index += 1) {
    if (index === openIndex) continue;
    const opening = { session_id: `w${index}`, user_id: 'u', project_id: PROJECT_KEY.project_id };
    unwrap(await coordinator.sessions.open(PROJECT_KEY.tenant_id, opening));
    unwrap(await coordinator.sessions.close(PROJECT_KEY.tenant_id, opening.session_id));
  }
  unwrap(await coordinator.holder.releaseClaim(PROJECT_KEY, handleOf(OTHER)));
  expect((await waiting[openIndex])?.claim?.task_id).toBe(OTHER);
});

const LEASE_SECONDS = 300;
const CLOCK_READS = 40;

/** A waiter waits for the end of a lease, which ends when the clock is read for the `endsAtRead`th time. */
async function waitWhileLeaseEnds(endsAtRead: number): Promise<ClaimResult> {
  const { coordinator, environment } = await CoordinatorHarness.open('memory');
  onTestFinished(() => coordinator.close());
  unwrap(await coordinator.plans.put(PROJECT_KEY, planOf(HELD)));
  const holder = { agent_id: 'holder', session_id: 's0', lease_duration_seconds: LEASE_SECONDS };
  unwrap(await coordinator.claims.claimTask(PROJECT_KEY, { task_id: HELD, ...holder }));
  environment.advance(LEASE_SECONDS - 0.002);
  const { clock } = environment;
  // Node's timers may fire up to a millisecond early.
  const setTimer = environment.setTimer.bind(environment);
  environment.setTimer = (afterMs, task) => setTimer(afterMs - 1, task);
  const read = clock.monotonicMs.bind(clock);
  let reads = 0;
  clock.monotonicMs = () => {
    reads += 1;
    if (reads === endsAtRead) clock.advance(1);
    return read();
  };
  const waitController = new AbortController();
  const waiter = { agent_id: 'waiter', session_id: 's1', wait_seconds: 30 };
  const waiting = coordinator.claims.next(
    PROJECT_KEY,
    waiter,
    undefined,
    waitController.signal,
  ) as Promise<ClaimResult>;
  for (let turn = 0; turn < 10; turn += 1) {
    await settle();
    environment.advance(0.001);
    environment.runDueTimers();
  }
  await settle();
  waitController.abort();
  return waiting;
}

test('a lease that expires at any moment of a scan is noticed at once', async () => {
  const missedAt: number[] = [];
  for (let read = 1; read <= CLOCK_READS; read += 1) {
    if (!(await waitWhileLeaseEnds(read)).success) missedAt.push(read);
  }
  expect(missedAt).toEqual([]);
});
