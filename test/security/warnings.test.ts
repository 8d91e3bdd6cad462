import { expect, it, onTestFinished, vi } from 'vitest';
import { expectNoProblem, openClientHarness, planTextOf } from '../../src/client/testing/client-harness.js';
import { PROJECT_URL, TestServer } from '../../src/server/testing/test-server.js';

/**
 * Who: anyone who may wait for work and opens many waiting calls at once.
 *
 * What they want: a server or an agent that fills its log with Node's leak warnings, among which a real warning goes
 * unread.
 *
 * What stops them: the limit of listeners is removed from signals that many calls listen to, where these signals are created
 * or received, and every call stops listening when it ends.
 */

const MANY = 20;
const A = 'A-001-core';

/** Collects the warnings that Node emits from here on. */
function watchWarnings(): { expectNone(): Promise<void> } {
  const warnings: string[] = [];
  const onWarning = (warning: Error): void => void warnings.push(`${warning.name}: ${warning.message}`);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  return {
    expectNone: async () => {
      // Node emits warnings after the turn of the event loop that caused them.
      await new Promise((resolve) => setImmediate(resolve));
      expect(warnings).toEqual([]);
    },
  };
}

/** `allArrived` resolves with the `count`-th call of `arrive`. */
function countArrivals(count: number): { arrive(): void; allArrived: Promise<void> } {
  let missing = count;
  let resolve = (): void => {};
  const allArrived = new Promise<void>((done) => {
    resolve = done;
  });
  return {
    arrive: () => {
      missing -= 1;
      if (missing === 0) resolve();
    },
    allArrived,
  };
}

it('many concurrent calls that wait for work cause no Node warning in the server', async () => {
  const warnings = watchWarnings();
  const server = await TestServer.forTest();
  await server.putPlan(A);
  await server.claim(A);
  const { claims } = server.running.coordinator;
  const waiting = countArrivals(MANY);
  const next = claims.next.bind(claims);
  vi.spyOn(claims, 'next').mockImplementation((...args) => {
    waiting.arrive();
    return next(...args);
  });
  const replies = Promise.allSettled(
    Array.from({ length: MANY }, (_, index) =>
      server.requestOverSocket('POST', `${PROJECT_URL}/next`, {
        agent_id: `a${index}`,
        session_id: `w${index}`,
        wait_seconds: 30,
      }),
    ),
  );
  await waiting.allArrived;
  await server.running.stop();
  const reasons = (await replies).map((reply) =>
    reply.status === 'fulfilled' ? reply.value.body.reason : null,
  );
  // The calls found no work, and were still waiting when the server stopped.
  expect(reasons).toEqual(Array.from({ length: MANY }, () => 'NOTHING_READY'));
  await warnings.expectNone();
  await server.restart();
});

it('an agent that works on many tasks concurrently with one abort signal causes no Node warning', async () => {
  const warnings = watchWarnings();
  const { genesis, direct } = await openClientHarness(planTextOf({ A: MANY }));
  const stopController = new AbortController();
  const working = countArrivals(MANY);
  const summary = await genesis.work(
    { agent_id: 'agent-a', concurrency: MANY, signal: stopController.signal },
    async () => {
      working.arrive();
      await working.allArrived;
      return {};
    },
  );
  expect(summary).toMatchObject({ accepted: MANY });
  expect(expectNoProblem(await direct.tasks({ phase: 'OPEN' })).tasks).toEqual([]);
  await warnings.expectNone();
});
