import { expect, test } from 'vitest';
import { HarnessAgent, personCaller } from '../../../test/support/agent.js';
import { candidateDigest } from '../../../test/support/candidate-digest.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';
import { OPEN_CALLER } from '../authentication/caller.js';

const [A, B] = ['A-001-core', 'B-001-data'] as const;
const OTHER_PROJECT = { tenant_id: 'acme', project_id: 'warehouse' };
const NOW = '2026-01-04T06:00:00.000Z';
const EARLIER = '2026-01-03T22:15:00.000Z';
const idOf = (number: number) => `019b8000-0000-7000-8000-${String(number).padStart(12, '0')}`;
const pushedAs = (number: number, occurred_at = EARLIER) => ({
  request_id: idOf(number),
  offline: { event_id: idOf(number), occurred_at },
});
const conflict = { problem: 'IDEMPOTENCY_CONFLICT' };
const ada = { agent_id: 'ada', session_id: 's-ada' };

const withKey = (principal: string) => ({ ...OPEN_CALLER, principal });

forEachStore('a pushed command', (open) => {
  async function openWithPlan() {
    const harness = await open();
    await harness.plan(planOf(A, B));
    return { harness, coordinator: harness.coordinator };
  }

  test('gives its event the offline id and time, and the timestamp is the time of the commit', async () => {
    const { harness, coordinator } = await openWithPlan();
    unwrap(await coordinator.claims.claimTask(PROJECT_KEY, { task_id: A, ...ada, ...pushedAs(1) }));
    const handle = { task_id: A, session_id: 's-ada' };
    unwrap(
      await coordinator.holder.suspendClaim(PROJECT_KEY, {
        ...handle,
        expected_generation: 1,
        ...pushedAs(2),
      }),
    );
    unwrap(
      await coordinator.holder.resumeClaim(PROJECT_KEY, {
        ...handle,
        expected_generation: 1,
        ...pushedAs(3),
      }),
    );
    unwrap(
      await coordinator.holder.submitResult(PROJECT_KEY, {
        ...handle,
        generation: 1,
        result_data: 1,
        ...pushedAs(4),
      }),
    );
    unwrap(await coordinator.claims.claimTask(PROJECT_KEY, { task_id: B, ...ada, ...pushedAs(5) }));
    unwrap(
      await coordinator.holder.releaseClaim(PROJECT_KEY, {
        ...handle,
        task_id: B,
        expected_generation: 1,
        ...pushedAs(6),
      }),
    );
    const events = (await harness.events()).filter(({ subject }) => subject === A || subject === B);
    expect(events.map(({ event_id }) => event_id)).toEqual([1, 2, 3, 4, 5, 6].map(idOf));
    for (const event of events) {
      expect(event).toMatchObject({ timestamp: NOW, payload: { occurred_at: EARLIER } });
    }
  });

  test('gives its id to the event of its own outcome, not to the expiry that is recorded before it', async () => {
    const { harness, coordinator } = await openWithPlan();
    await new HarnessAgent(harness, 'bob', 's-bob').claim(A, { lease_duration_seconds: 60 });
    harness.advance(3600);
    unwrap(await coordinator.claims.claimTask(PROJECT_KEY, { task_id: A, ...ada, ...pushedAs(1) }));
    const [, lost, granted] = (await harness.events()).filter(({ subject }) => subject === A);
    expect(lost).toMatchObject({ event_type: 'CLAIM_LOST' });
    expect(lost?.event_id).not.toBe(idOf(1));
    expect(lost?.payload).not.toHaveProperty('occurred_at');
    expect(granted).toMatchObject({ event_type: 'CLAIM_ACQUIRED', event_id: idOf(1) });
  });

  test('is recorded with a time that is not in the future, but may be before the project was created', async () => {
    const { harness, coordinator } = await openWithPlan();
    const claim = (task_id: string, number: number, occurred_at: string) =>
      coordinator.claims.claimTask(PROJECT_KEY, { task_id, ...ada, ...pushedAs(number, occurred_at) });
    unwrap(await claim(A, 1, '9999-12-31T23:59:59.999Z'));
    unwrap(await claim(B, 2, '1970-01-01T00:00:00.000Z'));
    const step = { event_type: 'iteration_completed', task_id: A, generation: 1, ...ada };
    const payload = { iteration: 1, status: 'iterating', delta: 2 };
    unwrap(
      await coordinator.holder.appendEvent(PROJECT_KEY, {
        ...step,
        occurred_at: '9999-12-31T23:59:59.999Z',
        payload,
      }),
    );
    const times = (await harness.events())
      .filter(({ payload }) => payload.occurred_at !== undefined)
      .map(({ timestamp, payload }) => [timestamp, payload.occurred_at]);
    expect(times).toEqual([
      [NOW, NOW],
      [NOW, '1970-01-01T00:00:00.000Z'],
      [NOW, NOW],
    ]);
  });

  test('takes effect once, also after a restart, and gets the same reply', async () => {
    const { harness, coordinator } = await openWithPlan();
    const claim = { task_id: A, ...ada, ...pushedAs(1) };
    const release = { task_id: A, session_id: 's-ada', expected_generation: 1, ...pushedAs(2) };
    const granted = unwrap(await coordinator.claims.claimTask(PROJECT_KEY, claim));
    const released = unwrap(await coordinator.holder.releaseClaim(PROJECT_KEY, release));
    const before = await harness.events();
    await harness.restart();
    expect(await harness.coordinator.claims.claimTask(PROJECT_KEY, claim)).toEqual(granted);
    expect(await harness.coordinator.holder.releaseClaim(PROJECT_KEY, release)).toEqual(released);
    expect(await harness.events()).toEqual(before);
  });

  test('with the id of any other event of the project is a conflict and changes nothing', async () => {
    const { harness, coordinator } = await openWithPlan();
    unwrap(
      await coordinator.claims.claimTask(PROJECT_KEY, { task_id: B, agent_id: 'bob', session_id: 's-bob' }),
    );
    const ownIds = (await harness.events()).map(({ event_id }) => event_id);
    unwrap(await coordinator.claims.claimTask(PROJECT_KEY, { task_id: A, ...ada, ...pushedAs(1) }));
    const before = await harness.events();
    const handle = { task_id: A, session_id: 's-ada', expected_generation: 1 };
    for (const event_id of [...ownIds, idOf(1)]) {
      const offline = { event_id, occurred_at: EARLIER };
      expect(
        await coordinator.holder.releaseClaim(PROJECT_KEY, { ...handle, offline }),
        event_id,
      ).toMatchObject(conflict);
    }
    expect(await harness.events()).toEqual(before);
  });

  test('takes effect with an event id that another project has', async () => {
    const { harness, coordinator } = await openWithPlan();
    await harness.plan(planOf(A), OTHER_PROJECT);
    unwrap(await coordinator.claims.claimTask(PROJECT_KEY, { task_id: A, ...ada, ...pushedAs(1) }));
    const claim = { task_id: A, ...ada, ...pushedAs(1) };
    expect(await coordinator.claims.claimTask(OTHER_PROJECT, claim)).toMatchObject({ success: true });
  });

  test('that another credential repeats does not get the reply, which contains the claim id', async () => {
    const { coordinator } = await openWithPlan();
    const claim = { task_id: A, ...ada, ...pushedAs(1) };
    expect(await coordinator.claims.claimTask(PROJECT_KEY, claim, withKey('key-1'))).toMatchObject({
      success: true,
    });
    expect(await coordinator.claims.claimTask(PROJECT_KEY, claim, withKey('key-2'))).toMatchObject(conflict);
  });

  test('cannot use an id that derives from content, or another spelling of one', async () => {
    const { coordinator } = await openWithPlan();
    for (const event_id of [idOf(1).replace('-7', '-5'), idOf(1).replace('019b', '019B'), 'x']) {
      const offline = { event_id, occurred_at: EARLIER };
      expect(await coordinator.claims.claimTask(PROJECT_KEY, { task_id: A, ...ada, offline })).toMatchObject({
        problem: 'INVALID_REQUEST',
      });
    }
    const batch = { claims: [{ task_id: A, ...ada, ...pushedAs(1) }] };
    expect(await coordinator.claims.batchClaim(PROJECT_KEY, batch)).toMatchObject({
      problem: 'INVALID_REQUEST',
    });
  });

  test('that is refused is logged as a refusal with its id as the request id, and with its offline time', async () => {
    const { harness, coordinator } = await openWithPlan();
    unwrap(
      await coordinator.claims.claimTask(PROJECT_KEY, { task_id: A, agent_id: 'bob', session_id: 's-bob' }),
    );
    expect(
      await coordinator.claims.claimTask(PROJECT_KEY, { task_id: A, ...ada, ...pushedAs(1) }),
    ).toMatchObject({
      reason: 'DENIED_ACTIVE_CLAIM',
    });
    const refusal = (await harness.events()).at(-1);
    expect(refusal).toMatchObject({
      event_type: 'CLAIM_REJECTED',
      request_id: idOf(1),
      payload: { occurred_at: EARLIER },
    });
    expect(refusal?.event_id).not.toBe(idOf(1));
  });

  test('of a review names the reviewer, and the credential that pushed it', async () => {
    const { harness, coordinator } = await openWithPlan();
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim(A);
    await alpha.suspends(A, { iteration: 1, candidate_sha256: candidateDigest('v1') });
    const review = { task_id: A, generation: 1, iteration: 1, candidate_sha256: candidateDigest('v1') };
    const { offline, request_id } = pushedAs(1);
    const body = { ...review, decision: 'REJECTED', request_id, offline: { ...offline, reviewer: 'rita' } };
    const pusher = { ...personCaller('olaf'), principal: 'key-olaf' };
    const repeatedId = { ...body, offline: { ...body.offline, accepted_event_id: idOf(1) } };
    expect(await coordinator.decisions.recordReview(PROJECT_KEY, repeatedId, pusher)).toMatchObject({
      problem: 'INVALID_REQUEST',
    });
    unwrap(await coordinator.decisions.recordReview(PROJECT_KEY, body, pusher));
    const [reviewed, released, putOnHold] = (await harness.events()).slice(-3);
    expect(reviewed).toMatchObject({
      event_id: idOf(1),
      agent_id: 'olaf',
      payload: { reviewer: 'rita', pushed_by: 'key-olaf', occurred_at: EARLIER },
    });
    expect(released).toMatchObject({ payload: { by: 'rita', occurred_at: EARLIER } });
    expect(putOnHold).toMatchObject({ agent_id: 'olaf', payload: { by: 'rita' } });
    expect(await coordinator.decisions.recordReview(PROJECT_KEY, body, pusher)).toMatchObject({
      reason: 'REJECTED',
    });
  });

  // An approval that accepts a result is recorded as two events, and each may have an offline id.
  async function openWithApprovals() {
    const { harness } = await openWithPlan();
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    for (const task of [A, B]) {
      await alpha.claim(task);
      await alpha.suspends(task, { iteration: 1, candidate_sha256: candidateDigest('v1') });
      expect(await alpha.submit(task, 'v2', { iteration: 2 })).toMatchObject({ reason: 'ESCALATED' });
    }
    const approve = (task_id: string, event: number, accepted: number) =>
      harness.coordinator.decisions.recordReview(
        PROJECT_KEY,
        {
          ...{
            task_id,
            generation: 1,
            iteration: 2,
            candidate_sha256: candidateDigest('v2'),
            decision: 'APPROVED',
          },
          offline: { ...pushedAs(event).offline, reviewer: 'rita', accepted_event_id: idOf(accepted) },
        },
        personCaller('olaf'),
      );
    const countOf = async (number: number) =>
      (await harness.events()).filter(({ event_id }) => event_id === idOf(number)).length;
    return { harness, approve, countOf };
  }

  test.each([
    ['the same id for the results they accept', 3],
    ['the id of one approval for the result that the other accepts', 1],
  ])('is a conflict for one of two simultaneous approvals that use %s', async (_, accepted) => {
    const { approve, countOf } = await openWithApprovals();
    const replies = await Promise.all([approve(A, 1, 3), approve(B, 2, accepted)]);
    // Either approval may be decided first.
    const isAFirst = !('problem' in replies[0]);
    expect(replies[isAFirst ? 0 : 1]).toMatchObject({ reason: 'APPROVED' });
    expect(replies[isAFirst ? 1 : 0]).toMatchObject(conflict);
    const recorded = isAFirst ? [1, 3] : [2, accepted];
    for (const number of [1, 2, 3]) expect(await countOf(number)).toBe(recorded.includes(number) ? 1 : 0);
  });

  test('that repeats an approval gets the same reply', async () => {
    const { harness, approve } = await openWithApprovals();
    const first = unwrap(await approve(A, 1, 3));
    const before = await harness.events();
    await harness.restart();
    expect(await approve(A, 1, 3)).toEqual(first);
    expect(await harness.events()).toEqual(before);
  });
});
