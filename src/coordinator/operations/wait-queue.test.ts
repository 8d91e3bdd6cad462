import { expect, onTestFinished, test } from 'vitest';
import { CoordinatorHarness, P, planOf, unwrap } from '../../../test/support/coordinator-harness.js';
import type { ClaimResult } from '../wire/index.js';

const WAITING = 50;
const [HELD, LEFT] = ['A-001-x', 'A-002-x'];
const at = (task_id: string) => ({ task_id, session_id: 's0', expected_generation: 1 });

/** One session holds all work, others wait, and no timer ever fires. `asked` counts the `next` operations. */
async function openWaiters() {
  let nextCalls = 0;
  const observer = {
    answered: (_: unknown, kind: string) => {
      if (kind === 'next') nextCalls += 1;
    },
    committed: () => {},
    flushed: () => {},
  };
  const { coordinator } = await CoordinatorHarness.open('memory', { observer });
  const abort = new AbortController();
  onTestFinished(() => {
    abort.abort();
    coordinator.close();
  });
  unwrap(await coordinator.plans.put(P, planOf(HELD, LEFT)));
  for (const task_id of [HELD, LEFT]) {
    unwrap(await coordinator.claimTask(P, { task_id, agent_id: 'holder', session_id: 's0' }));
  }
  const waiting = Array.from({ length: WAITING }, (_, index) => {
    const who = { agent_id: `a${index}`, session_id: `w${index}`, wait_seconds: 30 };
    return coordinator.next(P, who, undefined, abort.signal) as Promise<ClaimResult>;
  });
  while (nextCalls < WAITING) await settle();
  await settle();
  return { coordinator, waiting, asked: () => nextCalls, leave: () => abort.abort() };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

test('one who waits hears at once that its session was closed, and nobody else is woken', async () => {
  const { coordinator, waiting, asked: request, leave } = await openWaiters();
  unwrap(
    await coordinator.sessions.open(P.tenant_id, {
      project_id: P.project_id,
      session_id: 'w7',
      user_id: 'u',
    }),
  );
  unwrap(await coordinator.sessions.close(P.tenant_id, 'w7'));
  expect(await waiting[7]).toMatchObject({ success: false, reason: 'SESSION_CLOSED' });
  await settle();
  expect(request()).toBe(WAITING + 1);
  leave();
});

test('what makes no work ready wakes nobody, and a piece that is ready wakes one', async () => {
  const { coordinator, waiting, asked: request, leave } = await openWaiters();
  for (let turn = 0; turn < 20; turn += 1) unwrap(await coordinator.renewLease(P, at(HELD)));
  await settle();
  expect(request()).toBe(WAITING);
  unwrap(await coordinator.releaseClaim(P, at(HELD)));
  const first = await Promise.race(waiting);
  expect(first.claim?.task_id).toBe(HELD);
  await settle();
  expect(request()).toBe(WAITING + 1);
  leave();
  const rest = (await Promise.all(waiting)).filter(({ success }) => !success);
  expect(rest.length).toBe(WAITING - 1);
});

test('what the first in line cannot take is for the next', async () => {
  const { coordinator, waiting } = await openWaiters();
  const last = WAITING / 2;
  for (let index = 0; index < WAITING; index += 1) {
    if (index === last) continue;
    const opening = { session_id: `w${index}`, user_id: 'u', project_id: P.project_id };
    unwrap(await coordinator.sessions.open(P.tenant_id, opening));
    unwrap(await coordinator.sessions.close(P.tenant_id, opening.session_id));
  }
  unwrap(await coordinator.releaseClaim(P, at(LEFT)));
  expect((await waiting[last])?.claim?.task_id).toBe(LEFT);
});
