import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';

const [A, B, C] = ['A-001-core', 'B-001-data', 'C-001-api'] as const;

forEachStore('the sweeper', (open) => {
  /** Runs a sequence of commands, with or without the sweeper. Returns the agents' replies and the final log. */
  async function runSequence(hasSweeper: boolean) {
    const harness = await open({ limits: { max_concurrent_claims: 2, max_active_sessions: 3 } });
    await harness.plan(planOf(A, B, C));
    const agents = ['s1', 's2', 's3', 's4'].map(
      (session) => new HarnessAgent(harness, `agent-${session}`, session),
    );
    const [one, two, three, four] = agents as [HarnessAgent, HarnessAgent, HarnessAgent, HarnessAgent];
    const replies: unknown[] = [];
    const advanceAndSweep = async (seconds: number) => {
      harness.advance(seconds);
      if (hasSweeper) await harness.coordinator.sweep();
    };
    replies.push(await one.claim(A, { lease_duration_seconds: 60 }), await two.claim(B));
    replies.push(await three.claim(C));
    await advanceAndSweep(60);
    replies.push(await three.claim(C), await one.renew(A), await one.submit(A));
    await advanceAndSweep(600);
    replies.push(await two.submit(B), await three.release(C, { reason: 'ERROR', message: 'no' }));
    replies.push(await four.claim(C));
    await advanceAndSweep(500);
    replies.push(await four.claim(C), await four.next());
    const log = (await harness.events()).map(({ event_type, subject, generation, payload }) => ({
      event_type,
      subject,
      generation,
      expired_at: payload.expired_at,
    }));
    const states = unwrap(await harness.coordinator.queries.batchGetStates(PROJECT_KEY, [A, B, C])).tasks;
    return { replies, log, states };
  }

  test('changes no reply, event or state: it only writes expiries earlier', async () => {
    const [swept, unswept] = [await runSequence(true), await runSequence(false)];
    expect(swept.replies).toEqual(unswept.replies);
    expect(swept.states).toEqual(unswept.states);
    const sortedEvents = (log: typeof swept.log) => log.map((event) => JSON.stringify(event)).sort();
    expect(sortedEvents(swept.log)).toEqual(sortedEvents(unswept.log));
  });

  // req: LSE-014, STL-005, STO-011
  test('runs every sweep_interval_seconds and writes each expiry once', async () => {
    const harness = await open();
    await harness.plan(planOf(A));
    await new HarnessAgent(harness, 'alpha', 's1').claim(A, { lease_duration_seconds: 30 });
    const followController = new AbortController();
    const feed = harness.coordinator.feed.follow(PROJECT_KEY, '', followController.signal);
    harness.advance(31);
    harness.environment.runDueTimers();
    const eventTypes: string[] = [];
    for await (const { event } of feed) {
      eventTypes.push(event.event_type);
      if (event.event_type === 'CLAIM_LOST') followController.abort();
    }
    expect(eventTypes).toEqual(['PLAN_CHANGED', 'SESSION_OPENED', 'CLAIM_ACQUIRED', 'CLAIM_LOST']);
    expect(await harness.coordinator.sweep()).toBe(0);
  });
});
