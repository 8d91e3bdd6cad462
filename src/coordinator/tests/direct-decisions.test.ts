import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import {
  CoordinatorHarness,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';

const [A, B, C] = ['A-001-core', 'B-001-data', 'C-001-api'] as const;

/** An agent in an open session on the file store, whose claims are decided when they arrive. */
async function openWithSession(limits = {}) {
  const harness = await CoordinatorHarness.open('file', { limits });
  await harness.plan(planOf(A, B, C));
  const alpha = new HarnessAgent(harness, 'alpha', 's1');
  await alpha.claim(A);
  return { harness, alpha };
}

test('claims that arrive in one turn stay within the limit', async () => {
  const { harness, alpha } = await openWithSession({ max_concurrent_claims: 2 });
  const replies = await Promise.all([B, C].map((taskId) => alpha.claim(taskId)));
  expect(replies.map(({ reason }) => reason)).toEqual(['GRANTED', 'DENIED_LIMIT']);
  expect(await harness.store.countPermits('acme', 'claims')).toBe(2);
});

test('a claim that is repeated in the same turn takes effect once', async () => {
  const { harness, alpha } = await openWithSession();
  const claimB = () => alpha.claim(B, { request_id: 'r1' });
  const [first, repeated] = await Promise.all([claimB(), claimB()]);
  expect(repeated).toEqual(first);
  await alpha.release(B);
  expect(await claimB()).toEqual(first);
  expect(await harness.eventTypesOf(B)).toEqual(['CLAIM_ACQUIRED', 'CLAIM_RELEASED']);
});

test('a claim right after a change of policy is decided under the new policy', async () => {
  const { harness, alpha } = await openWithSession();
  await alpha.claim(B);
  const settings = harness.coordinator.settings;
  unwrap(await settings.putPolicy(PROJECT_KEY, { max_hold_seconds: 60 }));
  const { claim } = await alpha.claim(C, { lease_duration_seconds: 300 });
  const heldMs = Date.parse(claim?.expires_at ?? '') - Date.parse(claim?.claimed_at ?? '');
  expect(heldMs).toBe(60_000);
});

test('commands that are decided on arrival are logged in the order of their arrival', async () => {
  const { harness, alpha } = await openWithSession();
  await Promise.all([alpha.claim(B), alpha.renew(A), alpha.claim(C)]);
  const events = (await harness.events()).slice(-3);
  expect(events.map(({ event_type, subject }) => [event_type, subject])).toEqual([
    ['CLAIM_ACQUIRED', B],
    ['LEASE_RENEWED', A],
    ['CLAIM_ACQUIRED', C],
  ]);
});
