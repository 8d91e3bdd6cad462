import { expect, test } from 'vitest';
import { HarnessAgent, personCaller } from '../../../test/support/agent.js';
import { candidateDigest } from '../../../test/support/candidate-digest.js';
import {
  type CoordinatorHarnessOptions,
  forEachStore,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { OPEN_CALLER } from '../authentication/caller.js';

const [A, B] = ['A-001-core', 'B-001-data'] as const;

forEachStore('a review gate', (open) => {
  async function openWithClaim(options: CoordinatorHarnessOptions = {}) {
    const harness = await open(options);
    await harness.plan(planOf(A, B));
    const { coordinator } = harness;
    const [alpha, beta] = [new HarnessAgent(harness, 'alpha', 's1'), new HarnessAgent(harness, 'beta', 's2')];
    await alpha.claim(A);
    const review = (decision: string, fields = {}) =>
      coordinator.decisions.recordReview(
        PROJECT_KEY,
        {
          task_id: A,
          generation: 1,
          iteration: 1,
          candidate_sha256: candidateDigest('v1'),
          decision,
          ...fields,
        },
        personCaller('rita'),
      );
    return { harness, coordinator, queries: coordinator.queries, alpha, beta, review };
  }

  // req: HUM-002
  test('pauses the lease while it is open, for at most suspend_max_seconds', async () => {
    const { harness, alpha, beta, queries } = await openWithClaim();
    expect(await alpha.suspends(A)).toEqual({
      success: true,
      reason: 'SUSPENDED',
      generation: 1,
      until: '2026-01-18T06:00:00.000Z',
    });
    harness.advance(7200);
    expect((await beta.claim(A)).reason).toBe('DENIED_ACTIVE_CLAIM');
    expect(unwrap(await queries.getTaskState(PROJECT_KEY, A))).toMatchObject({
      readiness: 'suspended',
      claim: { state: 'SUSPENDED' },
    });
    expect(await alpha.resumes(A)).toMatchObject({ reason: 'RESUMED', until: '2026-01-04T08:05:00.000Z' });
    await alpha.suspends(A);
    harness.advance(14 * 24 * 3600);
    expect((await beta.claim(A)).claim?.generation).toBe(2);
  });

  test('accepts exactly the approved candidate, and no other', async () => {
    const { alpha, review } = await openWithClaim();
    await alpha.suspends(A, { iteration: 1, candidate_sha256: candidateDigest('v1') });
    expect(await review('APPROVED', { candidate_sha256: candidateDigest('v2') })).toMatchObject({
      reason: 'STALE_REVIEW',
    });
    expect(await review('APPROVED', { iteration: 2 })).toMatchObject({ reason: 'STALE_REVIEW' });
    expect(await review('APPROVED', { generation: 2 })).toMatchObject({ reason: 'STALE_REVIEW' });
    expect(await review('APPROVED')).toMatchObject({ success: true, reason: 'APPROVED' });
    expect(await review('APPROVED')).toMatchObject({ success: true, reason: 'APPROVED' });
    expect(await review('REJECTED')).toMatchObject({ success: false, reason: 'ALREADY_DECIDED' });
    expect(await alpha.submit(A, 'v1')).toMatchObject({ accepted: true });
  });

  test('is decided only by callers that may review, whichever command they use', async () => {
    const { coordinator, alpha, review, queries } = await openWithClaim();
    await alpha.suspends(A, { iteration: 1, candidate_sha256: candidateDigest('v1') });
    const agent = { ...OPEN_CALLER, principal: 'agent-key', may_review: false };
    const candidate = { task_id: A, generation: 1, iteration: 1, candidate_sha256: candidateDigest('v1') };
    const approval = { ...candidate, decision: 'APPROVED' };
    const offline = {
      event_id: '0198c5a2-7d5e-7b2c-9c1f-2f6f3c1d4e5a',
      occurred_at: '2026-01-04T06:00:00.000Z',
      reviewer: 'rita',
    };
    const refused = { problem: 'FORBIDDEN' };
    expect(await coordinator.decisions.recordReview(PROJECT_KEY, approval, agent)).toMatchObject(refused);
    expect(
      await coordinator.decisions.recordReview(PROJECT_KEY, { ...approval, offline }, agent),
    ).toMatchObject(refused);
    const named = { ...candidate, decision: 'approved' };
    expect(await coordinator.methodology.review(PROJECT_KEY, named, agent)).toMatchObject(refused);
    expect(
      await coordinator.reviewLinks.create(PROJECT_KEY, { task_id: A, reviewer: 'rita' }, agent),
    ).toMatchObject(refused);
    expect(unwrap(await queries.getTaskState(PROJECT_KEY, A)).readiness).toBe('suspended');
    expect(await review('APPROVED')).toMatchObject({ success: true });
  });

  test('needs no new permit under stale_policy hold, even if the old permit had expired', async () => {
    const { harness, coordinator, alpha, beta } = await openWithClaim({ limits: { max_active_sessions: 1 } });
    await coordinator.settings.putPolicy(PROJECT_KEY, { suspend_max_seconds: 60 });
    await alpha.suspends(A, { iteration: 1, candidate_sha256: candidateDigest('v1') });
    await alpha.resumes(A);
    harness.advance(1000);
    expect(await beta.claim(B)).toMatchObject({ success: true });
    await coordinator.settings.putPolicy(PROJECT_KEY, { stale_policy: 'hold' });
    expect(await alpha.submit(A, 'v2')).toMatchObject({ reason: 'ESCALATED', work_lost: false });
  });

  test('requires a new review of any other candidate, and its approval completes the task', async () => {
    const { alpha, review, queries, harness } = await openWithClaim();
    await alpha.suspends(A, { iteration: 1, candidate_sha256: candidateDigest('v1') });
    await review('APPROVED');
    expect(await alpha.submit(A, 'v2', { iteration: 2 })).toMatchObject({
      accepted: false,
      reason: 'ESCALATED',
      work_lost: false,
    });
    expect(unwrap(await queries.getTaskState(PROJECT_KEY, A)).readiness).toBe('suspended');
    const approved = await review('APPROVED', { iteration: 2, candidate_sha256: candidateDigest('v2') });
    expect(approved).toMatchObject({ success: true });
    expect(unwrap(await queries.getTaskState(PROJECT_KEY, A))).toMatchObject({
      phase: 'COMPLETED',
      result: { generation: 1 },
    });
    expect(await harness.eventTypesOf(A)).toContain('REVIEW_COMPLETED');
  });

  // req: HUM-001
  test('gives the holder a new lease for requested changes, and holds a rejected task', async () => {
    const { harness, alpha, beta, review } = await openWithClaim();
    await alpha.suspends(A, { iteration: 1, candidate_sha256: candidateDigest('v1') });
    harness.advance(3600);
    expect(await review('CHANGES_REQUESTED', { comment: 'shorter' })).toMatchObject({ success: true });
    harness.advance(299);
    expect((await alpha.renew(A)).reason).toBe('RENEWED');
    await alpha.suspends(A, { iteration: 2, candidate_sha256: candidateDigest('v2') });
    const second = { iteration: 2, candidate_sha256: candidateDigest('v2'), comment: 'no' };
    expect(await review('REJECTED', second)).toMatchObject({ success: true, reason: 'REJECTED' });
    expect(await beta.claim(A)).toMatchObject({
      reason: 'DENIED_HELD',
      hold_reason: 'rejected in review by rita: no',
    });
    expect(await alpha.submit(A, 'v2')).toMatchObject({ accepted: false, reason: 'NO_CLAIM' });
  });

  test('parks a late candidate while no permit is free', async () => {
    const { harness, alpha, beta, review, queries } = await openWithClaim({
      limits: { max_concurrent_claims: 1 },
    });
    await alpha.suspends(A, { iteration: 1, candidate_sha256: candidateDigest('v1') });
    await review('APPROVED');
    harness.advance(301);
    expect((await beta.claim(B)).reason).toBe('GRANTED');
    const late = await alpha.submit(A, 'v2', { iteration: 2 });
    expect(late).toMatchObject({ reason: 'LEASE_EXPIRED', parked: expect.stringMatching(/^res_/) });
    expect(unwrap(await queries.getTaskState(PROJECT_KEY, A)).readiness).not.toBe('suspended');
    await beta.submit(B);
    expect((await alpha.submit(A, 'v3', { iteration: 3 })).reason).toBe('ESCALATED');
  });

  test('parks a late candidate while its track is full', async () => {
    const harness = await open();
    const other = 'A-002-api';
    await harness.plan(planOf(A, other));
    const { settings, decisions } = harness.coordinator;
    unwrap(await settings.putPolicy(PROJECT_KEY, { max_agents_per_track: 1 }));
    const [alpha, beta] = [new HarnessAgent(harness, 'alpha', 's1'), new HarnessAgent(harness, 'beta', 's2')];
    await alpha.claim(A);
    await alpha.suspends(A, { iteration: 1, candidate_sha256: candidateDigest('v1') });
    const review = {
      task_id: A,
      generation: 1,
      iteration: 1,
      candidate_sha256: candidateDigest('v1'),
      decision: 'APPROVED',
    };
    await decisions.recordReview(PROJECT_KEY, review, personCaller('rita'));
    harness.advance(301);
    expect((await beta.claim(other)).reason).toBe('GRANTED');
    expect((await alpha.submit(A, 'v2', { iteration: 2 })).reason).toBe('LEASE_EXPIRED');
    await beta.submit(other);
    expect((await alpha.submit(A, 'v3', { iteration: 3 })).reason).toBe('ESCALATED');
  });
});
