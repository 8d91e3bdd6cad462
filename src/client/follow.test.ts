import { expect, test } from 'vitest';
import { expectNoProblem, openClientHarness, planTextOf } from './testing/client-harness.js';

test('delivers every event once and in order over connections that break', async () => {
  const taskCount = 30;
  const { genesis, direct, proxy } = await openClientHarness(planTextOf({ A: taskCount }));
  const feedController = new AbortController();
  const positions: number[] = [];
  let connectionCount = 0;
  proxy.actionFor = (request) => {
    if (request.includes('/events/stream')) connectionCount += 1;
    return 'pass';
  };
  const following = (async () => {
    for await (const { event } of genesis.follow({}, { signal: feedController.signal })) {
      positions.push(event.position);
      if (positions.length % 20 === 0) proxy.cutConnections();
      if (event.event_type === 'RESULT_SUBMITTED' && event.task_id === 'A-030-part') break;
    }
  })();
  for (let n = 0; n < taskCount; n++) {
    const { claim } = expectNoProblem(await direct.next({ agent_id: 'agent-a', session_id: 'sess-a' }));
    if (claim === null) throw new Error('nothing to do');
    const { task_id, session_id, generation, id: claim_id } = claim;
    await direct.submitResult({ task_id, session_id, generation, claim_id, result_data: n });
  }
  await following;
  const { events } = expectNoProblem(await direct.events({ limit: 1000 }));
  expect(connectionCount).toBeGreaterThan(1);
  expect(positions).toEqual(events.map(({ position }) => position));
});

test('a feed resumes from a cursor, and ends when its signal aborts', async () => {
  const { genesis } = await openClientHarness(planTextOf({ A: 1 }));
  let after = '';
  for await (const { cursor } of genesis.follow()) {
    after = cursor;
    break;
  }
  expectNoProblem(
    await genesis.claimTask({ task_id: 'A-001-part', agent_id: 'agent-a', session_id: 'sess-a' }),
  );
  const feedController = new AbortController();
  const types: string[] = [];
  for await (const { event } of genesis.follow({ after }, { signal: feedController.signal })) {
    types.push(event.event_type);
    if (event.event_type === 'CLAIM_ACQUIRED') feedController.abort();
  }
  expect(types).not.toContain('PLAN_CHANGED');
  expect(types).toContain('CLAIM_ACQUIRED');
});

test('a request that the server refuses permanently ends the feed with its problem', async () => {
  const { genesis } = await openClientHarness(planTextOf({ A: 1 }));
  const feed = genesis.follow({ after: 'no cursor of ours' });
  await expect(feed.next()).rejects.toMatchObject({ problem: { code: 'INVALID_REQUEST' } });
});
