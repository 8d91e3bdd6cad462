import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import {
  type CoordinatorHarness,
  forEachStore,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import type { NoticeSender } from './review-notices.js';

const TASK = 'A-001-core';
const FIRST_DIGEST = '1'.repeat(64);
const SECOND_DIGEST = '2'.repeat(64);
const ENGINE = `
review:
  webhook_url: https://hooks.example.com/secret-path
  remind_after_days: [1, 3]
  deadline_days: 7
`;
const DAY = 24 * 3600;

/** Confirms notices, or refuses them with `error`. */
class ScriptedReceiver implements NoticeSender {
  readonly received: { url: string; id: string; body: Record<string, unknown> }[] = [];
  error: string | null = null;

  async send(url: string, id: string, text: string): Promise<void> {
    this.received.push({ url, id, body: JSON.parse(text) });
    if (this.error !== null) throw new Error(this.error);
  }
  get kinds(): string[] {
    return this.received.map(({ body }) => `${body.kind} ${body.number}`);
  }
}

async function runRound(harness: CoordinatorHarness, seconds = 5): Promise<void> {
  harness.advance(seconds);
  // Loads the project after a restart.
  await harness.coordinator.queries.getTaskState(PROJECT_KEY, TASK);
  await harness.coordinator.notifyReviews();
}

forEachStore('notices of reviews', (open) => {
  async function openWaiting(engine = ENGINE) {
    const receiver = new ScriptedReceiver();
    const harness = await open({ notice_sender: receiver });
    await harness.plan(planOf(TASK));
    unwrap(await harness.coordinator.settings.configure(PROJECT_KEY, { files: { 'engine.yml': engine } }));
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim(TASK);
    await alpha.suspends(TASK, { iteration: 1, candidate_sha256: FIRST_DIGEST });
    const recordedNoticeEvents = async () =>
      (await harness.events())
        .filter(({ event_type }) => /^review_notif|^review_notice/.test(event_type))
        .map(({ event_type, payload }) => `${event_type} ${payload.kind} ${payload.number ?? 0}`);
    return { receiver, harness, alpha, recordedNoticeEvents };
  }

  // req: HUM-005
  test('are sent once each when a review is requested, at the reminders and at the deadline', async () => {
    const { receiver, harness, recordedNoticeEvents } = await openWaiting();
    await runRound(harness);
    await runRound(harness);
    expect(receiver.received).toMatchObject([
      {
        url: 'https://hooks.example.com/secret-path',
        body: {
          ...{ kind: 'requested', tenant_id: 'acme', project_id: 'shop', task_id: TASK },
          ...{ generation: 1, iteration: 1, candidate_sha256: FIRST_DIGEST, next: `gen review ${TASK}` },
          ...{ since: '2026-01-04T06:00:00.000Z', deadline: '2026-01-11T06:00:00.000Z' },
        },
      },
    ]);
    expect(receiver.received[0]?.body.notice_id).toBe(receiver.received[0]?.id);
    for (const days of [1, 2, 4, 1]) await runRound(harness, days * DAY);
    const kinds = ['requested 0', 'reminder 1', 'reminder 2', 'deadline 0'];
    expect(receiver.kinds).toEqual(kinds);
    expect(await recordedNoticeEvents()).toEqual(kinds.map((kind) => `review_notified ${kind}`));
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(4);
    expect(JSON.stringify(await harness.events())).toContain('"host":"hooks.example.com"');
    const notices = (await harness.events()).filter(({ event_type }) => event_type === 'review_notified');
    expect(JSON.stringify(notices)).not.toContain('secret-path');
  });

  test('are not sent again after a restart, nor by another coordinator', async () => {
    const { receiver, harness, recordedNoticeEvents } = await openWaiting();
    await runRound(harness);
    await harness.restart();
    await runRound(harness);
    expect(receiver.kinds).toEqual(['requested 0']);
    expect(await recordedNoticeEvents()).toEqual(['review_notified requested 0']);
  });

  test('are skipped if they were missed: after a long interruption only the current notice is sent', async () => {
    const { receiver, harness } = await openWaiting();
    await runRound(harness, 5 * DAY);
    expect(receiver.kinds).toEqual(['reminder 2']);
  });

  test('are tried five times in about an hour, and then nothing is sent until the next notice is due', async () => {
    const { receiver, harness, recordedNoticeEvents } = await openWaiting();
    receiver.error = 'status 503';
    for (const seconds of [5, 30, 60, 240, 900, 2400, 3600, 3600]) await runRound(harness, seconds);
    expect(receiver.kinds).toEqual(Array(5).fill('requested 0'));
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
    expect(await recordedNoticeEvents()).toEqual(['review_notice_failed requested 0']);
    const pendingReviewsNow = async () =>
      unwrap(await harness.coordinator.methodology.reviews(PROJECT_KEY)).reviews;
    expect(await pendingReviewsNow()).toMatchObject([
      { notice_failed: { host: 'hooks.example.com', error: 'status 503' } },
    ]);
    receiver.error = null;
    await runRound(harness, DAY);
    expect(await recordedNoticeEvents()).toEqual([
      'review_notice_failed requested 0',
      'review_notified reminder 1',
    ]);
    expect(await pendingReviewsNow()).toMatchObject([{ notice_failed: null }]);
  });

  test('start again for another candidate, and end with the decision', async () => {
    const { receiver, harness, alpha } = await openWaiting();
    await runRound(harness);
    await alpha.resumes(TASK);
    await alpha.suspends(TASK, { iteration: 2, candidate_sha256: SECOND_DIGEST });
    await runRound(harness);
    expect(receiver.received.map(({ body }) => body.candidate_sha256)).toEqual([FIRST_DIGEST, SECOND_DIGEST]);
    const candidate = { task_id: TASK, generation: 1, iteration: 2, candidate_sha256: SECOND_DIGEST };
    unwrap(
      await harness.coordinator.decisions.recordReview(PROJECT_KEY, { ...candidate, decision: 'APPROVED' }),
    );
    await runRound(harness, 2 * DAY);
    expect(receiver.received).toHaveLength(2);
  });

  test('are not sent in a project without a webhook', async () => {
    const { receiver, harness } = await openWaiting('review: { deadline_days: 7 }\n');
    await runRound(harness);
    expect(receiver.received).toEqual([]);
  });

  test('cannot be appended by agents, nor by reviewers', async () => {
    const { harness } = await openWaiting();
    for (const event_type of ['review_notified', 'review_notice_failed', 'escalation_timeout']) {
      const body = { event_type, task_id: TASK, agent_id: 'alpha', payload: {} };
      expect(await harness.coordinator.holder.appendEvent(PROJECT_KEY, body)).toMatchObject({
        problem: 'INVALID_EVENT',
      });
    }
  });
});
