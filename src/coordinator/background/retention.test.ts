import { expect, test } from 'vitest';
import { HarnessAgent, personCaller } from '../../../test/support/agent.js';
import {
  type CoordinatorHarness,
  forEachStore,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { PolicyAwareLogChecker } from '../../core/claims/policy-aware-log-checker.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { AnyHead } from '../../core/fold.js';

const A = 'A-001-core';
const DAY_S = 24 * 3600;

/** Generation 1 fails with a message and submits too late. Generation 2 submits a result that is accepted. */
async function runTwoGenerations(harness: CoordinatorHarness): Promise<void> {
  await harness.plan(planOf(A));
  const first = new HarnessAgent(harness, 'first', 'session-1');
  const second = new HarnessAgent(harness, 'second', 'session-2');
  await first.claim(A, { metadata: { secret: 'of the first' } });
  await first.notes(A, 'a remark of the first');
  await first.release(A, { reason: 'ERROR', message: 'secret error' });
  harness.advance(3600);
  await second.claim(A, { metadata: { secret: 'of the second' } });
  expect(await first.submit(A, { secret: 'of the zombie' })).toMatchObject({ accepted: false });
  expect(await second.submit(A, { kept: 'for ever' })).toMatchObject({ accepted: true });
}

const jsonOf = (events: readonly EventEnvelope[]) => JSON.stringify(events);

async function logViolations(harness: CoordinatorHarness): Promise<unknown[]> {
  const checker = new PolicyAwareLogChecker();
  const eventViolations = (await harness.events()).flatMap((event) => checker.checkEvent(event));
  const heads = (await harness.store.scanHeads(PROJECT_KEY, { after: null, limit: 1000 })) as AnyHead[];
  return [...eventViolations, ...checker.checkHeads(heads)];
}

forEachStore('retention', (open) => {
  // req: LIM-004
  test('removes old payload texts, and keeps every event, the accepted result and every head', async () => {
    const harness = await open();
    await runTwoGenerations(harness);
    const heads = await harness.store.scanHeads(PROJECT_KEY, { after: null, limit: 1000 });
    const before = await harness.events();
    harness.advance(90 * DAY_S - 3700);
    expect(await harness.coordinator.redactHistory()).toBe(0);
    harness.advance(DAY_S);
    expect(await harness.coordinator.redactHistory()).toBe(4);
    const after = await harness.events();
    for (const removedText of ['of the first', 'a remark', 'secret error', 'of the zombie']) {
      expect(jsonOf(before)).toContain(removedText);
      expect(jsonOf(after)).not.toContain(removedText);
    }
    expect(jsonOf(after)).toContain('for ever');
    expect(jsonOf(after)).toContain('of the second');
    expect(after.slice(0, -1).map(({ payload: _, ...envelope }) => envelope)).toEqual(
      before.map(({ payload: _, ...envelope }) => envelope),
    );
    expect(await harness.store.scanHeads(PROJECT_KEY, { after: null, limit: 1000 })).toEqual(heads);
    expect(await logViolations(harness)).toEqual([]);
  });

  test('records a redaction once, and a second run finds nothing', async () => {
    const harness = await open();
    await runTwoGenerations(harness);
    harness.advance(91 * DAY_S);
    expect(await harness.coordinator.redactHistory()).toBe(4);
    expect(await harness.coordinator.redactHistory()).toBe(0);
    const events = (await harness.events()).filter(({ event_type }) => event_type === 'HISTORY_FORGOTTEN');
    expect(events).toHaveLength(1);
    expect(events[0]?.payload).toMatchObject({ retention_days: 90 });
    await harness.restart();
    expect(await harness.coordinator.queries.getTaskState(PROJECT_KEY, A)).toMatchObject({
      phase: 'COMPLETED',
      parked: 0,
    });
    expect(await harness.coordinator.queries.agents(PROJECT_KEY)).toMatchObject({
      agents: [{ agent_id: 'first' }, { agent_id: 'second' }],
    });
  });

  test('finishes a run that was interrupted between recording and redacting', async () => {
    const harness = await open();
    await runTwoGenerations(harness);
    harness.advance(91 * DAY_S);
    const { redact } = harness.store;
    harness.store.redact = async () => {
      throw new Error('cut short');
    };
    await expect(harness.coordinator.redactHistory()).rejects.toThrow('cut short');
    harness.store.redact = redact;
    expect(jsonOf(await harness.events())).toContain('of the zombie');
    expect(await harness.coordinator.redactHistory()).toBe(4);
    expect(jsonOf(await harness.events())).not.toContain('of the zombie');
    const events = (await harness.events()).filter(({ event_type }) => event_type === 'HISTORY_FORGOTTEN');
    expect(events).toHaveLength(1);
  });

  test('keeps a parked result adoptable until the retention period ends, and not after', async () => {
    const adoptAfterDays = async (afterDays: number) => {
      const harness = await open();
      await harness.plan(planOf(A));
      const [zombie, successor] = [
        new HarnessAgent(harness, 'first', 's1'),
        new HarnessAgent(harness, 'second', 's2'),
      ];
      await zombie.claim(A);
      await zombie.release(A);
      await successor.claim(A);
      await successor.release(A);
      const { parked } = await zombie.submit(A, { worth: 'keeping' });
      harness.advance(afterDays * DAY_S);
      await harness.coordinator.redactHistory();
      const body = { expected_generation: 2, reason: 'want it', result_id: parked };
      return unwrap(
        await harness.coordinator.decisions.operate(PROJECT_KEY, A, 'adopt', body, personCaller('admin')),
      );
    };
    expect(await adoptAfterDays(89)).toMatchObject({ success: true, reason: 'ADOPTED' });
    expect(await adoptAfterDays(91)).toMatchObject({ success: false, reason: 'UNKNOWN_RESULT' });
  });

  // req: AUD-007
  test.each([
    ['hipaa', 6 * 365 + 2],
    ['soc2', 365],
    ['pci', 365],
  ] as const)('is extended by the compliance profile %s to %i days', async (compliance_profile, days) => {
    const harness = await open();
    await runTwoGenerations(harness);
    unwrap(
      await harness.coordinator.settings.putPolicy(
        PROJECT_KEY,
        { compliance_profile },
        personCaller('admin'),
      ),
    );
    harness.advance((days - 1) * DAY_S);
    expect(await harness.coordinator.redactHistory()).toBe(0);
    harness.advance(2 * DAY_S);
    expect(await harness.coordinator.redactHistory()).toBe(4);
  });

  test('runs by timer, an hour after the project is loaded and then once a day', async () => {
    const harness = await open();
    await runTwoGenerations(harness);
    const redactedCounts: number[] = [];
    const { redact } = harness.store;
    const firstRedaction = new Promise<void>((resolve) => {
      harness.store.redact = async (projectKey, events) => {
        await redact.call(harness.store, projectKey, events);
        redactedCounts.push(events.length);
        resolve();
      };
    });
    harness.advance(91 * DAY_S);
    // The sweeper's first round sets the due time an hour ahead, and a later round finds the project due.
    for (let round = 0; round < 50 && redactedCounts.length === 0; round += 1) {
      harness.advance(2 * 3600);
      harness.environment.runDueTimers();
      await harness.environment.yieldToEventLoop();
    }
    await firstRedaction;
    expect(redactedCounts).toEqual([4]);
  });
});
