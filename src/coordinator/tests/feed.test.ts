import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import {
  type CoordinatorHarness,
  forEachStore,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';

const ids = Array.from({ length: 9 }, (_, index) => `A-00${index + 1}-x`);

forEachStore('the feed', (open) => {
  async function openWithPlan() {
    const harness = await open();
    await harness.plan(planOf(...ids));
    return { harness, alpha: new HarnessAgent(harness, 'alpha', 's1') };
  }

  /** Reads pages of two until one is empty. */
  async function readToEnd(harness: CoordinatorHarness, from: string, positions: number[]): Promise<string> {
    for (let cursor = from; ; ) {
      const page = unwrap(await harness.coordinator.feed.page(PROJECT_KEY, { after: cursor, limit: 2 }));
      positions.push(...page.events.map((event) => event.position));
      cursor = page.next;
      if (page.events.length === 0) return cursor;
    }
  }

  test('returns every event exactly once in pages, also across a restart', async () => {
    const { harness, alpha } = await openWithPlan();
    const positions: number[] = [];
    await alpha.claimBatch(ids.slice(0, 3));
    const cursor = await readToEnd(harness, '', positions);
    await alpha.submit(ids[0] as string);
    await harness.restart();
    await alpha.claimBatch(ids.slice(3));
    const end = await readToEnd(harness, cursor, positions);
    const count = await harness.position();
    expect(positions).toEqual(Array.from({ length: count }, (_, index) => index + 1));
    expect(await readToEnd(harness, end, [])).toBe(end);
  });

  test('returns every event exactly once in pages from the newest to the first', async () => {
    const { harness, alpha } = await openWithPlan();
    await alpha.claimBatch(ids);
    const positions: number[] = [];
    for (let before: number | null | undefined; before !== null; ) {
      const filter = before === undefined ? { limit: 4 } : { limit: 4, before };
      const page = unwrap(await harness.coordinator.feed.recentPage(PROJECT_KEY, filter));
      positions.push(...page.events.map((event) => event.position));
      before = page.before;
    }
    const count = await harness.position();
    expect(positions).toEqual(Array.from({ length: count }, (_, index) => count - index));
    const ofTask = await harness.coordinator.feed.recentPage(PROJECT_KEY, { task_id: 'A-003-x', limit: 1 });
    expect(unwrap(ofTask).events).toMatchObject([{ task_id: 'A-003-x', event_type: 'CLAIM_ACQUIRED' }]);
  });

  test('has opaque cursors, and refuses invalid ones', async () => {
    const { harness } = await openWithPlan();
    const { next } = unwrap(await harness.coordinator.feed.page(PROJECT_KEY));
    expect(next).not.toMatch(/^\d+$/);
    for (const after of ['1', '-1', 'x'.repeat(100_000), 'cDotMQ', '__proto__']) {
      expect(await harness.coordinator.feed.page(PROJECT_KEY, { after })).toMatchObject({
        problem: 'INVALID_REQUEST',
      });
    }
  });

  // req: EVT-007, EVT-008
  test('is filtered by type, task, agent, session and time', async () => {
    const { harness, alpha } = await openWithPlan();
    const beta = new HarnessAgent(harness, 'beta', 's2');
    await alpha.claim('A-001-x');
    harness.advance(60);
    await beta.claim('A-002-x');
    await beta.submit('A-002-x');
    const count = async (filter: object) =>
      unwrap(await harness.coordinator.feed.page(PROJECT_KEY, filter)).events.length;
    expect(await count({ type: 'CLAIM_ACQUIRED' })).toBe(2);
    expect(await count({ task_id: 'A-002-x' })).toBe(2);
    expect(await count({ agent_id: 'alpha', type: 'CLAIM_ACQUIRED' })).toBe(1);
    expect(await count({ session_id: 's2', type: 'RESULT_SUBMITTED' })).toBe(1);
    expect(await count({ since: '2026-01-04T06:01:00.000Z' })).toBe(3);
    expect(await count({ limit: 1_000_000 })).toBe(6);
  });

  // req: PRJ-006
  test('streams every event once, and continues from a cursor after a restart', async () => {
    const { harness, alpha } = await openWithPlan();
    const positions: number[] = [];
    let cursor = '';
    const followUntil = async (count: number) => {
      const stopController = new AbortController();
      for await (const next of harness.coordinator.feed.follow(PROJECT_KEY, cursor, stopController.signal)) {
        positions.push(next.event.position);
        cursor = next.cursor;
        if (positions.length === count) stopController.abort();
      }
    };
    const first = followUntil(6);
    for (const id of ids.slice(0, 4)) await alpha.claim(id);
    await first;
    await harness.restart();
    const second = followUntil(9);
    for (const id of ids.slice(4, 7)) await alpha.claim(id);
    await second;
    expect(positions).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test('stops when the listener disconnects, also while no event arrives', async () => {
    const { harness } = await openWithPlan();
    const stopController = new AbortController();
    const feed = harness.coordinator.feed.follow(PROJECT_KEY, '', stopController.signal);
    await feed.next();
    const waiting = feed.next();
    stopController.abort();
    expect((await waiting).done).toBe(true);
  });
});
