import { describe, expect, it } from 'vitest';
import { CoordinatorHarness, PROJECT_KEY, planOf } from '../../../test/support/coordinator-harness.js';
import { StoreUnavailable } from '../../stores/store.js';
import { storeRetryDelayMs } from './backoff.js';

const A = 'A-001-core';
const STEP_SECONDS = 0.25;

/** A harness whose store can be made unavailable, counting the calls of background work. */
async function withOutage() {
  const harness = await CoordinatorHarness.open('memory');
  for (const project_id of ['shop', 'bank', 'mill'])
    await harness.plan(planOf(A), { ...PROJECT_KEY, project_id });
  const { store } = harness;
  const calls = { count: 0 };
  let isGone = false;
  const { project, commit } = store;
  const guarded =
    <Args extends unknown[], T>(work: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      if (isGone) {
        calls.count += 1;
        throw new StoreUnavailable('The engine is gone.');
      }
      return work.apply(store, args);
    };
  Object.assign(store, { project: guarded(project), commit: guarded(commit) });
  /** Lets this many seconds pass for the timers. */
  const passSeconds = async (seconds: number): Promise<void> => {
    for (let at = 0; at < seconds; at += STEP_SECONDS) {
      harness.advance(STEP_SECONDS);
      harness.environment.runDueTimers();
      // Background work on a memory store ends within a few turns of the event loop.
      for (let turn = 0; turn < 10; turn += 1) await harness.environment.yieldToEventLoop();
    }
  };
  const setOutage = (gone: boolean): void => {
    isGone = gone;
  };
  return { harness, calls, passSeconds, setOutage };
}

describe('background work while the store is unavailable', () => {
  // req: RCV-005
  it('retries less and less often, once for all projects, and at least every ten seconds', async () => {
    const { calls, passSeconds, setOutage } = await withOutage();
    await passSeconds(1);
    setOutage(true);
    await passSeconds(60);
    const inFirstMinute = calls.count;
    await passSeconds(60);
    const inSecondMinute = calls.count - inFirstMinute;
    // Four polls a second of four logs would be 960 attempts a minute.
    expect(inFirstMinute).toBeLessThan(25);
    expect(inSecondMinute).toBeLessThanOrEqual(12);
    expect(inSecondMinute).toBeGreaterThanOrEqual(5);
  });

  it('reads the commits of other coordinators once the store answers again', async () => {
    const { harness, passSeconds, setOutage } = await withOutage();
    const second = await harness.openAnother();
    await second.plans.get(PROJECT_KEY);
    await passSeconds(1);
    setOutage(true);
    await passSeconds(30);
    setOutage(false);
    const { eventTypes } = await followEvents(harness);
    await second.claims.claimTask(PROJECT_KEY, { task_id: A, agent_id: 'beta', session_id: 's2' });
    await passSeconds(11);
    expect(eventTypes()).toContain('CLAIM_ACQUIRED');
  });

  // req: RCV-005
  it('does not delay commands: they are refused at once, and one that succeeds ends the pause', async () => {
    const { harness, calls, passSeconds, setOutage } = await withOutage();
    await passSeconds(1);
    setOutage(true);
    await passSeconds(60);
    const claim = { task_id: A, agent_id: 'alpha', session_id: 's1' };
    expect(await harness.coordinator.claims.claimTask(PROJECT_KEY, claim)).toMatchObject({
      problem: 'UNAVAILABLE',
    });
    setOutage(false);
    expect(await harness.coordinator.claims.claimTask(PROJECT_KEY, claim)).toMatchObject({ success: true });
    setOutage(true);
    const before = calls.count;
    await passSeconds(STEP_SECONDS);
    expect(calls.count).toBeGreaterThan(before);
  });
});

/** Collects the event types that the first coordinator streams. */
async function followEvents(harness: CoordinatorHarness) {
  const types: string[] = [];
  const followController = new AbortController();
  const feed = harness.coordinator.feed.follow(PROJECT_KEY, '', followController.signal);
  void (async () => {
    for await (const { event } of feed) types.push(event.event_type);
  })();
  return { eventTypes: () => types };
}

describe('the pause after consecutive failures', () => {
  it('doubles up to ten seconds, and jitter shortens it by at most half', () => {
    expect([1, 2, 3, 4, 5, 6, 60].map((failures) => storeRetryDelayMs(failures, 1))).toEqual([
      500, 1000, 2000, 4000, 8000, 10_000, 10_000,
    ]);
    expect(storeRetryDelayMs(60, 0)).toBe(5000);
  });
});
