import { expect, test } from 'vitest';
import { HarnessAgent, personCaller } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';

const [A, B] = ['A-001-core', 'B-001-data'] as const;
const DIGEST = '1'.repeat(64);
const HOUR = 3600;
const DAY = 24 * HOUR;

forEachStore('the deadline of a review', (open) => {
  async function openWaiting(stale_policy: string, engine?: string) {
    const harness = await open();
    const { coordinator } = harness;
    await harness.plan(planOf(A, B));
    unwrap(await coordinator.settings.putPolicy(PROJECT_KEY, { stale_policy }));
    if (engine !== undefined)
      unwrap(await coordinator.settings.configure(PROJECT_KEY, { files: { 'engine.yml': engine } }));
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    const suspend = async (task: string) => {
      await alpha.claim(task);
      await alpha.suspends(task, { iteration: 1, candidate_sha256: DIGEST });
    };
    await suspend(A);
    const timeoutEvents = async (task: string = A) =>
      (await harness.eventTypesOf(task)).filter((type) => type === 'escalation_timeout');
    const pendingReviewsNow = async () => unwrap(await coordinator.methodology.reviews(PROJECT_KEY)).reviews;
    const approve = (task: string = A) =>
      harness.coordinator.decisions.recordReview(
        PROJECT_KEY,
        { task_id: task, generation: 1, iteration: 1, candidate_sha256: DIGEST, decision: 'APPROVED' },
        personCaller('rita'),
      );
    return { harness, coordinator, suspend, timeoutEvents, pendingReviewsNow, approve };
  }

  test('is recorded once, and the review stays open while the claim is held', async () => {
    const { harness, coordinator, timeoutEvents, pendingReviewsNow, approve } = await openWaiting('hold');
    harness.advance(14 * DAY - 1);
    await coordinator.sweep();
    expect(await timeoutEvents()).toEqual([]);
    expect(await pendingReviewsNow()).toMatchObject([{ overdue: false }]);
    harness.advance(1);
    await coordinator.sweep();
    await coordinator.sweep();
    await harness.restart();
    harness.advance(HOUR);
    await harness.coordinator.queries.getTaskState(PROJECT_KEY, A);
    await harness.coordinator.sweep();
    expect(await timeoutEvents()).toHaveLength(1);
    const [event] = (await harness.events()).filter(({ event_type }) => event_type === 'escalation_timeout');
    expect(event).toMatchObject({
      subject: A,
      generation: 1,
      payload: { iteration: 1, candidate_sha256: DIGEST, deadline: '2026-01-18T06:00:00.000Z' },
    });
    expect(unwrap(await harness.coordinator.methodology.reviews(PROJECT_KEY)).reviews).toMatchObject([
      { overdue: true, since: '2026-01-04T06:00:00.000Z', deadline: '2026-01-18T06:00:00.000Z' },
    ]);
    expect(await approve()).toMatchObject({ success: true, reason: 'APPROVED' });
  });

  test('is recorded before the claim ends, if others may take it over', async () => {
    const { harness, coordinator, pendingReviewsNow, approve } = await openWaiting('takeover');
    harness.advance(14 * DAY);
    await coordinator.sweep();
    const types = await harness.eventTypesOf(A);
    expect(types.slice(-2)).toEqual(['escalation_timeout', 'CLAIM_LOST']);
    expect(await pendingReviewsNow()).toEqual([]);
    expect(await approve()).toMatchObject({ reason: 'STALE_REVIEW' });
  });

  test('is earlier if engine.yml says so, and overdue reviews are listed first', async () => {
    const { harness, coordinator, suspend, timeoutEvents, pendingReviewsNow, approve } = await openWaiting(
      'takeover',
      'review: { deadline_days: 2 }\n',
    );
    harness.advance(DAY);
    await suspend(B);
    harness.advance(DAY);
    await coordinator.sweep();
    expect([await timeoutEvents(A), await timeoutEvents(B)]).toEqual([['escalation_timeout'], []]);
    expect((await pendingReviewsNow()).map(({ task_id, overdue }) => [task_id, overdue])).toEqual([
      [A, true],
      [B, false],
    ]);
    expect(await approve()).toMatchObject({ success: true, reason: 'APPROVED' });
  });
});
