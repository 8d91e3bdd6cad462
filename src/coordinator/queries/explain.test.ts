import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';

const [A, B] = ['A-001-core', 'B-001-data'] as const;
const EDGE = 'REQ-F-1#design_code';

forEachStore('explain', (open) => {
  async function openWithPlan(limits = {}) {
    const harness = await open({ limits });
    await harness.plan(planOf(A, { id: B, depends_on: [A] }));
    const refusalRules = async (taskId: string) =>
      unwrap(await harness.coordinator.queries.explain(PROJECT_KEY, taskId)).why.map((one) => one.rule);
    return {
      harness,
      coordinator: harness.coordinator,
      alpha: new HarnessAgent(harness, 'alpha', 's1'),
      refusalRules,
    };
  }

  test('reports a task that can be claimed', async () => {
    const { coordinator } = await openWithPlan();
    expect(await coordinator.queries.explain(PROJECT_KEY, A)).toEqual({
      task_id: A,
      claimable: true,
      is_held_by_you: false,
      why: [{ rule: 'GRANTED', says: expect.any(String) }],
      next: `Claim it: gen task claim ${A}`,
    });
  });

  test('names the holder, its session and its generation', async () => {
    const { coordinator, alpha } = await openWithPlan();
    await alpha.claim(A);
    const { claimable, why, next } = unwrap(await coordinator.queries.explain(PROJECT_KEY, A));
    expect(claimable).toBe(false);
    expect(why).toEqual([
      {
        rule: 'DENIED_ACTIVE_CLAIM',
        says: 'alpha holds it in session s1 under generation 1 until 2026-01-04T06:05:00.000Z',
      },
    ]);
    expect(next).toBe('Claim other work, or retry when this claim has ended.');
  });

  test('reports that a task is completed, and by whom', async () => {
    const { coordinator, alpha } = await openWithPlan();
    await alpha.claim(A);
    await alpha.submit(A);
    const { why } = unwrap(await coordinator.queries.explain(PROJECT_KEY, A));
    expect(why).toEqual([{ rule: 'DENIED_COMPLETED', says: 'it was completed by alpha under generation 1' }]);
  });

  test('lists every rule that prevents a claim, not only the first', async () => {
    const { coordinator } = await openWithPlan();
    await coordinator.decisions.operate(PROJECT_KEY, B, 'hold', {
      expected_generation: 0,
      reason: 'ask legal',
    });
    expect(unwrap(await coordinator.queries.explain(PROJECT_KEY, B)).why).toEqual([
      { rule: 'DENIED_HELD', says: 'ask legal' },
      { rule: 'DENIED_DEPENDENCIES', says: `it waits for ${A}` },
    ]);
  });

  test('reports the backoff after an error, and its end', async () => {
    const { coordinator, alpha, harness, refusalRules } = await openWithPlan();
    await alpha.claim(A);
    await alpha.release(A, { reason: 'ERROR', message: 'disk full' });
    const { why } = unwrap(await coordinator.queries.explain(PROJECT_KEY, A));
    expect(why).toMatchObject([{ rule: 'DENIED_BACKOFF', says: expect.stringContaining('disk full') }]);
    harness.advance(5);
    expect(await refusalRules(A)).toEqual(['GRANTED']);
  });

  test('distinguishes exhausted generations, a suspended claim and a stale holder', async () => {
    const { coordinator, alpha, harness, refusalRules } = await openWithPlan({ max_generations_per_task: 1 });
    await alpha.claim(A);
    await alpha.suspends(A);
    expect(unwrap(await coordinator.queries.explain(PROJECT_KEY, A)).why[0]?.says).toContain(
      'suspended it without a review',
    );
    await alpha.release(A);
    expect(await refusalRules(A)).toEqual(['DENIED_LIMIT']);
    await alpha.claim(EDGE);
    harness.advance(1800);
    expect(unwrap(await coordinator.queries.explain(PROJECT_KEY, EDGE)).why[0]?.says).toContain(
      'silent since',
    );
  });

  test('names no end of an edge that only its holder or an operator releases, stale or not', async () => {
    const { coordinator, alpha, harness } = await openWithPlan();
    await alpha.claim(EDGE);
    const explained = async (sessionId?: string) =>
      unwrap(await coordinator.queries.explain(PROJECT_KEY, EDGE, sessionId));
    const [reason] = (await explained()).why;
    expect(reason?.says).toMatch(/ under generation 1 until the holder or an operator releases it$/);
    expect((await explained('s1')).why[0]?.says).toBe('you hold it under generation 1');
    harness.advance(1800);
    expect((await explained()).next).toContain(`gen task force-release ${EDGE} --reason TEXT`);
  });

  test('explains a task that was removed from the plan, but not a task that was never in it', async () => {
    const { coordinator, refusalRules } = await openWithPlan();
    await coordinator.decisions.operate(PROJECT_KEY, B, 'hold', { expected_generation: 0, reason: 'x' });
    unwrap(await coordinator.plans.put(PROJECT_KEY, planOf(A)));
    expect(await refusalRules(B)).toEqual(['UNKNOWN_TASK']);
    expect(await coordinator.queries.explain(PROJECT_KEY, 'Z-001-never')).toMatchObject({
      problem: 'NOT_FOUND',
    });
  });
});
