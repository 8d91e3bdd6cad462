import { expect, test } from 'vitest';
import { expectNoProblem, openClientHarness, planTextOf } from './testing/client-harness.js';

const taskIdOf = (n: number) => `A-${String(n).padStart(3, '0')}-part`;
const numbers = Array.from({ length: 100 }, (_, index) => index + 1);

test('a hundred concurrent claims, renewals or results take a few requests, and each call gets its own reply', async () => {
  const { genesis, proxy } = await openClientHarness(planTextOf({ A: 99 }));
  const claimReplies = await Promise.all(
    numbers.map((n) =>
      genesis.claimTask({ task_id: taskIdOf(n), agent_id: 'agent-a', session_id: 'sess-a' }),
    ),
  );
  expect(proxy.requests.length).toBeLessThan(5);
  const grantedClaims = claimReplies.flatMap((reply) => expectNoProblem(reply).claim ?? []);
  expect(grantedClaims.map(({ task_id }) => task_id)).toEqual(numbers.slice(0, 99).map(taskIdOf));
  expect(claimReplies[99]).toMatchObject({ success: false, reason: 'UNKNOWN_TASK' });

  const handles = grantedClaims.map(({ task_id, session_id, generation, id }) => ({
    task_id,
    session_id,
    expected_generation: generation,
    claim_id: id,
  }));
  const renewed = await Promise.all(handles.map((handle) => genesis.renewLease(handle)));
  expect(renewed.every((reply) => expectNoProblem(reply).success)).toBe(true);
  const results = await Promise.all(
    handles.map(({ expected_generation: generation, ...handle }, n) =>
      genesis.submitResult({ ...handle, generation, result_data: { n } }),
    ),
  );
  expect(results.every((reply) => expectNoProblem(reply).accepted)).toBe(true);
  expect(proxy.requests.length).toBeLessThan(12);
});

test('sends a single call without a batch', async () => {
  const { genesis, proxy } = await openClientHarness(planTextOf({ A: 2 }));
  for (const n of [1, 2]) {
    await genesis.claimTask({ task_id: taskIdOf(n), agent_id: 'agent-a', session_id: 'sess-a' });
  }
  expect(proxy.requests.map((request) => request.replace(/.*projects/, ''))).toEqual([
    '/shop/claims',
    '/shop/claims',
  ]);
});

test('a malformed call does not affect the others in its batch', async () => {
  const { genesis } = await openClientHarness(planTextOf({ A: 3 }));
  const replies = await Promise.all(
    [taskIdOf(1), 'not an id', taskIdOf(2), taskIdOf(3)].map((task_id) =>
      genesis.claimTask({ task_id, agent_id: 'agent-a', session_id: 'sess-a' }),
    ),
  );
  expect(replies.map((reply) => ('code' in reply ? reply.code : reply.reason))).toEqual([
    'GRANTED',
    'INVALID_REQUEST',
    'GRANTED',
    'GRANTED',
  ]);
});

test('repeats a batch whose reply is lost, and the batch takes effect once', async () => {
  const { genesis, direct, proxy } = await openClientHarness(planTextOf({ A: 50 }));
  let batchRequestCount = 0;
  proxy.actionFor = (request) =>
    request.endsWith('/batch') && batchRequestCount++ === 0 ? 'lose_reply' : 'pass';
  const replies = await Promise.all(
    numbers
      .slice(0, 50)
      .map((n) => genesis.claimTask({ task_id: taskIdOf(n), agent_id: 'a', session_id: 's' })),
  );
  expect(batchRequestCount).toBeGreaterThan(1);
  expect(replies.every((reply) => expectNoProblem(reply).claim?.generation === 1)).toBe(true);
  expect(expectNoProblem(await direct.events({ type: 'CLAIM_ACQUIRED', limit: 1000 })).events).toHaveLength(
    50,
  );
});
