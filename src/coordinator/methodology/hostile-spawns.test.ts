import { expect, test } from 'vitest';
import { CoordinatorHarness, PROJECT_KEY, unwrap } from '../../../test/support/coordinator-harness.js';

const F = 'REQ-F-AUTH-001';
const files = {
  [`features/active/${F}.yml`]: `feature: ${F}\ntitle: Sign in\nprofile: standard\nstatus: pending\n`,
};
const spike = { vector_type: 'spike', parent: F, reason: 'which' };
const answer = {
  fold_back_status: 'converged',
  summary: 'so',
  recommendation: 'proceed',
  question_answered: true,
};

async function openConfigured(): Promise<CoordinatorHarness> {
  const harness = await CoordinatorHarness.open('memory');
  unwrap(await harness.coordinator.settings.configure(PROJECT_KEY, { files }));
  return harness;
}

test.each([
  '-1 day',
  '0 days',
  '1e9 days',
  '999999999999999999999 weeks',
  'NaN',
  '-0h',
  '9'.repeat(60),
  '1 day -2 days',
])('the time box %j is refused, and nothing is spawned', async (duration) => {
  const harness = await openConfigured();
  const before = await harness.position();
  const reply = await harness.coordinator.methodology.spawn(PROJECT_KEY, { ...spike, duration });
  expect(reply).toMatchObject({ success: false, reason: 'INVALID_DURATION' });
  expect(await harness.position()).toBe(before);
});

test('an existing feature is not replaced, even by a hundred concurrent spawns', async () => {
  const harness = await openConfigured();
  const { methodology } = harness.coordinator;
  const existingFeature = { vector_type: 'feature', feature_id: F, reason: 'mine' };
  expect(await methodology.spawn(PROJECT_KEY, existingFeature)).toMatchObject({
    success: false,
    reason: 'FEATURE_EXISTS',
  });
  const replies = await Promise.all(
    Array.from({ length: 100 }, () =>
      methodology.spawn(PROJECT_KEY, { ...existingFeature, feature_id: 'REQ-F-NEW' }),
    ),
  );
  expect(replies.filter((reply) => 'success' in reply && reply.success)).toHaveLength(1);
  const spawned = await Promise.all(Array.from({ length: 20 }, () => methodology.spawn(PROJECT_KEY, spike)));
  expect(new Set(spawned.map((reply) => 'feature_id' in reply && reply.feature_id)).size).toBe(20);
});

test('a feature is folded back once, even by concurrent calls', async () => {
  const harness = await openConfigured();
  const { methodology } = harness.coordinator;
  const spawned = unwrap(await methodology.spawn(PROJECT_KEY, spike));
  const feature_id = spawned.feature_id ?? '';
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => methodology.foldBack(PROJECT_KEY, { ...answer, feature_id })),
  );
  const reasons = replies.map((reply) => ('reason' in reply ? reply.reason : reply.problem)).sort();
  expect(reasons).toEqual([...Array(19).fill('ALREADY_FOLDED_BACK'), 'FOLDED_BACK']);
});

test('a version is released at most once, and concurrent checkpoints each have their own event', async () => {
  const harness = await openConfigured();
  const { methodology } = harness.coordinator;
  const checkpoints = await Promise.all(
    Array.from({ length: 20 }, () => methodology.checkpoint(PROJECT_KEY, { context_hash: 'same' })),
  );
  expect(new Set(checkpoints.map((reply) => 'event_id' in reply && reply.event_id)).size).toBe(20);
  unwrap(
    await harness.coordinator.claims.claimTask(PROJECT_KEY, {
      task_id: `${F}#intent_requirements`,
      agent_id: 'a',
      session_id: 's',
    }),
  );
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => methodology.release(PROJECT_KEY, { version: '1.0.0' })),
  );
  expect(replies.filter((reply) => 'success' in reply && reply.success).length).toBeLessThanOrEqual(1);
});
