import { describe, expect, it } from 'vitest';
import type { SubjectCommand } from './commands.js';
import type { Rules } from './policy.js';
import {
  adopt,
  claim,
  operatorFields,
  reassign,
  release,
  renew,
  result,
  resume,
  review,
  submit,
  suspend,
  testGrant,
} from './testing/commands.js';
import {
  accepted,
  ada,
  bob,
  escalated,
  eve,
  expired,
  given,
  granted,
  held,
  isoAt,
  msAt,
  type PastEventBuilder,
  pastEvent,
  released,
  reset,
  suspended,
} from './testing/given.js';

/** A history, a command and the expected code. Each row also meets the conditions of the rows below it, as far as possible. */
interface Row {
  readonly code: string;
  readonly history: readonly PastEventBuilder[];
  readonly command: SubjectCommand;
  readonly atSeconds?: number;
  readonly rules?: Partial<Rules>;
  readonly condition?: string;
}

function table(name: string, rows: readonly Row[]): void {
  describe(`${name}: the first code that applies`, () => {
    it.each(rows.map((row) => [row.code, row.condition ?? '', row] as const))('is %s %s', (code, _, row) => {
      const { decision } = given(...row.history)
        .under(row.rules ?? {})
        .when(row.command, row.atSeconds ?? 10);
      expect(decision.code).toBe(code);
    });
  });
}

/** Reactivates a claim in any state. No command does this, but it makes a head meet several conditions at once. */
const revived = (atSeconds: number): PastEventBuilder =>
  pastEvent('resumed', atSeconds, { lease_duration_seconds: 300, expires_at: isoAt(atSeconds + 300) });
const failedUntil = (atSeconds: number, retryAtSeconds: number): PastEventBuilder =>
  released(atSeconds, { reason: 'ERROR', message: 'broken', retry_at: isoAt(retryAtSeconds) });

const waitingFacts = { waiting_for: ['A-000-before'] };
const limitFacts = { reached_limit: 'max_concurrent_claims' } as const;
const edge = {
  unknown_message: null,
  is_second_agent: false,
  overlapping_claims: [],
  is_overlap_refused: true,
  warnings: [],
};
const overlapping_claims = [{ subject: 'REQ-F-B#design_code', agent_id: 'bob', shared_modules: ['auth'] }];
const secondAgentFacts = { edge: { ...edge, is_second_agent: true, overlapping_claims } };
const sharedModulesFacts = { edge: { ...edge, overlapping_claims } };
const twoGenerations = { max_generations_per_task: 2 };
const twoGrants = [granted(ada, 0), released(1), granted(bob, 2)];
const failed = [...twoGrants, failedUntil(3, 9000)];

table('claim', [
  {
    code: 'INVALID_LEASE',
    history: [granted(ada, 0), accepted(1), granted(bob, 2), failedUntil(3, 9000), revived(4), held(5)],
    command: claim(
      ada,
      { lease_seconds: 1 },
      {
        is_known_subject: false,
        is_session_closed: true,
        ...secondAgentFacts,
        ...waitingFacts,
        ...limitFacts,
      },
    ),
    rules: twoGenerations,
  },
  {
    code: 'UNKNOWN_TASK',
    history: [granted(ada, 0), accepted(1), granted(bob, 2), failedUntil(3, 9000), revived(4), held(5)],
    command: claim(
      ada,
      {},
      {
        is_known_subject: false,
        is_session_closed: true,
        ...secondAgentFacts,
        ...waitingFacts,
        ...limitFacts,
      },
    ),
    rules: twoGenerations,
  },
  {
    code: 'SESSION_CLOSED',
    history: [granted(ada, 0), accepted(1), granted(bob, 2), failedUntil(3, 9000), revived(4), held(5)],
    command: claim(ada, {}, { is_session_closed: true, ...secondAgentFacts, ...waitingFacts, ...limitFacts }),
    rules: twoGenerations,
  },
  {
    code: 'DENIED_SINGLE_AGENT',
    history: [granted(ada, 0), accepted(1), granted(bob, 2), failedUntil(3, 9000), revived(4), held(5)],
    command: claim(ada, {}, { ...secondAgentFacts, ...waitingFacts, ...limitFacts }),
    rules: twoGenerations,
  },
  {
    code: 'DENIED_COMPLETED',
    history: [granted(ada, 0), accepted(1), granted(bob, 2), failedUntil(3, 9000), revived(4), held(5)],
    command: claim(ada, {}, { ...sharedModulesFacts, ...waitingFacts, ...limitFacts }),
    rules: twoGenerations,
  },
  {
    code: 'DENIED_HELD',
    history: [...failed, revived(4), held(5)],
    command: claim(ada, {}, { ...sharedModulesFacts, ...waitingFacts, ...limitFacts }),
    rules: twoGenerations,
  },
  {
    code: 'DENIED_ACTIVE_CLAIM',
    history: [...failed, revived(4)],
    command: claim(ada, {}, { ...sharedModulesFacts, ...waitingFacts, ...limitFacts }),
    rules: twoGenerations,
  },
  {
    code: 'DENIED_DEPENDENCIES',
    history: failed,
    command: claim(ada, {}, { ...sharedModulesFacts, ...waitingFacts, ...limitFacts }),
    rules: twoGenerations,
  },
  {
    code: 'DENIED_PARALLEL',
    history: failed,
    command: claim(ada, {}, { ...sharedModulesFacts, ...limitFacts }),
    rules: twoGenerations,
  },
  { code: 'DENIED_BACKOFF', history: failed, command: claim(ada, {}, limitFacts), rules: twoGenerations },
  {
    code: 'DENIED_LIMIT',
    condition: '(generations)',
    history: failed,
    atSeconds: 9000,
    command: claim(ada, {}, limitFacts),
    rules: twoGenerations,
  },
  {
    code: 'DENIED_LIMIT',
    condition: '(tenant)',
    history: failed,
    atSeconds: 9000,
    command: claim(ada, {}, limitFacts),
  },
  { code: 'GRANTED', history: failed, atSeconds: 9000, command: claim(ada) },
]);

describe('after a loss of history', () => {
  const afterLoss = { generation_floor: 50, max_generations_per_task: 2 };

  it('the next generation is above the floor, and each later grant raises it by one', () => {
    const grant = given(...twoGrants, released(3))
      .under(afterLoss)
      .when(claim(ada), 9000).decision;
    expect(grant.events.at(-1)).toMatchObject({ generation: 51, payload: { previous_generation: 2 } });
  });

  it('the limit of generations counts only the grants after the loss', () => {
    const history = [...twoGrants, released(3)];
    expect(
      given(...history)
        .under(afterLoss)
        .when(claim(ada), 9000).decision.code,
    ).toBe('GRANTED');
    given(...history)
      .under({ ...afterLoss, generation_floor: 0 })
      .when(claim(ada), 9000)
      .thenRefused('DENIED_LIMIT', { limit: 'max_generations_per_task' });
  });
});

describe('a refused claim', () => {
  it('names the reached limit: the limit of generations comes before the limit of the tenant', () => {
    given(...failed)
      .under(twoGenerations)
      .when(claim(ada, {}, limitFacts), 9000)
      .thenRefused('DENIED_LIMIT', { limit: 'max_generations_per_task' });
    given(...failed)
      .when(claim(ada, {}, limitFacts), 9000)
      .thenRefused('DENIED_LIMIT', { limit: 'max_concurrent_claims' });
  });
  it('gives the reason: the hold, the dependencies, the backoff or the lease', () => {
    given(held(1, 'look first'))
      .when(claim(ada), 2)
      .thenRefused('DENIED_HELD', { hold_reason: 'look first' });
    given()
      .when(claim(ada, {}, waitingFacts), 2)
      .thenRefused('DENIED_DEPENDENCIES', waitingFacts);
    given(...failed)
      .when(claim(ada), 8999)
      .thenRefused('DENIED_BACKOFF', { retry_at_ms: msAt(9000) });
    given(granted(ada, 0))
      .when(claim(bob), 299)
      .thenRefused('DENIED_ACTIVE_CLAIM', { expires_at_ms: msAt(300), stale: false });
  });
  it('is recorded as one loose event, unless the request itself is invalid', () => {
    const { loose_events: looseEvents } = given(granted(ada, 0))
      .when(claim(bob), 1)
      .thenRefused('DENIED_ACTIVE_CLAIM');
    expect(looseEvents).toMatchObject([
      {
        event_type: 'CLAIM_REJECTED',
        agent_id: 'bob',
        generation: 1,
        payload: { reason: 'DENIED_ACTIVE_CLAIM', holding_agent: 'ada' },
      },
    ]);
    expect(looseEvents[0]).not.toHaveProperty('seq');
    expect(
      given()
        .when(claim(bob, { lease_seconds: 1 }), 1)
        .thenRefused('INVALID_LEASE').loose_events,
    ).toEqual([]);
  });
  // req: LIM-002, LSE-013
  it('is refused for a lease below the minimum or above the maximum', () => {
    for (const lease_seconds of [30, 3600, null])
      given().when(claim(ada, { lease_seconds }), 1).thenEvents('GRANTED', ['CLAIM_ACQUIRED']);
    for (const lease_seconds of [29, 3601])
      given().when(claim(ada, { lease_seconds }), 1).thenRefused('INVALID_LEASE');
  });
});

table('renew', [
  { code: 'INVALID_LEASE', history: [], command: renew(bob, 7, 1) },
  { code: 'NO_CLAIM', condition: '(never granted)', history: [], command: renew(bob, 7) },
  {
    code: 'GENERATION_MISMATCH',
    history: [granted(ada, 0), released(1)],
    atSeconds: 400,
    command: renew(bob, 2),
  },
  {
    code: 'NO_CLAIM',
    condition: '(released)',
    history: [granted(ada, 0), released(1)],
    atSeconds: 400,
    command: renew(bob, 1),
  },
  { code: 'SESSION_MISMATCH', history: [granted(ada, 0)], atSeconds: 400, command: renew(bob, 1) },
  { code: 'ALREADY_EXPIRED', history: [granted(ada, 0)], atSeconds: 300, command: renew(ada, 1) },
  { code: 'RENEWED', history: [granted(ada, 0)], atSeconds: 299, command: renew(ada, 1) },
]);

table('release', [
  { code: 'NO_CLAIM', condition: '(never granted)', history: [], command: release(bob, 7) },
  { code: 'GENERATION_MISMATCH', history: [granted(ada, 0), accepted(1)], command: release(bob, 2) },
  {
    code: 'NO_CLAIM',
    condition: '(completed)',
    history: [granted(ada, 0), accepted(1)],
    command: release(bob, 1),
  },
  { code: 'SESSION_MISMATCH', history: [granted(ada, 0)], command: release(bob, 1) },
  { code: 'RELEASED', history: [granted(ada, 0)], command: release(ada, 1) },
]);

describe('a release', () => {
  it('is idempotent for its holder', () => {
    given(granted(ada, 0), released(1)).when(release(ada, 1), 2).thenReplayed('RELEASED');
    given(granted(ada, 0), released(1)).when(release(bob, 1), 2).thenRefused('NO_CLAIM');
  });
  it('after an error starts a backoff that doubles each time', () => {
    given(granted(ada, 0))
      .when(release(ada, 1, 'ERROR', 'broken'), 10)
      .thenEvents('RELEASED', ['CLAIM_RELEASED', { retry_at: isoAt(15), message: 'broken' }]);
    given(granted(ada, 0), failedUntil(1, 2), granted(ada, 3))
      .when(release(ada, 2, 'ERROR'), 10)
      .thenEvents('RELEASED', ['CLAIM_RELEASED', { retry_at: isoAt(20) }]);
  });
  it('after too many errors holds the subject for a person', () => {
    given(granted(ada, 0))
      .under({ max_attempts: 1 })
      .when(release(ada, 1, 'ERROR', 'broken'), 10)
      .thenEvents(
        'RELEASED',
        ['CLAIM_RELEASED'],
        ['TASK_HELD', { by: 'genesis', reason: 'the last attempt ended in error or expiry: broken' }],
      );
  });
  it('with an error after the lease expired counts as one failure', () => {
    for (const history of [[granted(ada, 0)], [granted(ada, 0), expired(300)]]) {
      const { decision } = given(...history).when(release(ada, 1, 'ERROR', 'broken'), 400);
      expect(decision.next).toMatchObject({ failures: 1, last_error: 'broken', retry_at_ms: msAt(405) });
    }
  });
  it('of a lapsed claim is allowed, and the expiry is recorded first', () => {
    const { not_before_ms } = given(granted(ada, 0))
      .when(release(ada, 1), 400)
      .thenEvents(
        'RELEASED',
        ['CLAIM_LOST', { disposition: 'eligible', expired_at: isoAt(300) }],
        ['CLAIM_RELEASED'],
      );
    expect(not_before_ms).toBe(msAt(300));
  });
});

const strictRules = { late_submit: 'reject' } as const;
const largeResult = { result: { ...result('bb22'), size_bytes: 1e9 } };
const failing = [{ name: 'tests_pass', says: 'It failed.' }];
const failingChecksFacts = { convergence: { failing, needs_human_review: true, authority_reason: null } };
const changedInputsFacts = { inputs: 'other', authority: 'reject', ...failingChecksFacts } as const;

table('submit', [
  {
    code: 'NO_CLAIM',
    condition: '(never granted)',
    history: [],
    command: submit(bob, 7, largeResult, changedInputsFacts),
    rules: strictRules,
  },
  {
    code: 'FUTURE_GENERATION',
    history: [...twoGrants, accepted(3)],
    atSeconds: 400,
    command: submit(ada, 3, largeResult, changedInputsFacts),
    rules: strictRules,
  },
  {
    code: 'STALE_GENERATION',
    history: [...twoGrants, accepted(3)],
    atSeconds: 400,
    command: submit(ada, 1, largeResult, changedInputsFacts),
    rules: strictRules,
  },
  {
    code: 'TASK_ALREADY_COMPLETED',
    history: [...twoGrants, accepted(3)],
    atSeconds: 400,
    command: submit(ada, 2, largeResult, changedInputsFacts),
    rules: strictRules,
  },
  {
    code: 'NO_CLAIM',
    condition: '(released)',
    history: [...twoGrants, released(3)],
    atSeconds: 400,
    command: submit(ada, 2, largeResult, changedInputsFacts),
    rules: strictRules,
  },
  {
    code: 'SESSION_MISMATCH',
    history: twoGrants,
    atSeconds: 400,
    command: submit(ada, 2, largeResult, changedInputsFacts),
    rules: strictRules,
  },
  {
    code: 'RESULT_TOO_LARGE',
    history: twoGrants,
    atSeconds: 400,
    command: submit(bob, 2, largeResult, changedInputsFacts),
    rules: strictRules,
  },
  {
    code: 'LEASE_EXPIRED',
    history: twoGrants,
    atSeconds: 302,
    command: submit(bob, 2, {}, changedInputsFacts),
    rules: strictRules,
  },
  {
    code: 'DEPENDENCY_CHANGED',
    history: twoGrants,
    atSeconds: 301,
    command: submit(bob, 2, {}, changedInputsFacts),
    rules: strictRules,
  },
  {
    code: 'OUTSIDE_AUTHORITY',
    history: twoGrants,
    atSeconds: 301,
    command: submit(bob, 2, {}, { authority: 'reject', ...failingChecksFacts }),
    rules: strictRules,
  },
  {
    code: 'NOT_CONVERGED',
    history: twoGrants,
    atSeconds: 301,
    command: submit(bob, 2, {}, { authority: 'escalate', ...failingChecksFacts }),
    rules: strictRules,
  },
  {
    code: 'ESCALATED',
    history: twoGrants,
    atSeconds: 301,
    command: submit(bob, 2, {}, { authority: 'escalate' }),
    rules: strictRules,
  },
  { code: 'ACCEPTED', history: twoGrants, atSeconds: 301, command: submit(bob, 2), rules: strictRules },
]);

describe('a submission', () => {
  it('may be as large as the limit and no larger', () => {
    const sized = (size_bytes: number) => submit(ada, 1, { result: { ...result(), size_bytes } });
    given(granted(ada, 0))
      .under({ max_result_size_bytes: 50 })
      .when(sized(50), 1)
      .thenEvents('ACCEPTED', ['RESULT_SUBMITTED']);
    given(granted(ada, 0))
      .under({ max_result_size_bytes: 50 })
      .when(sized(51), 1)
      .thenRefusedToHolder('RESULT_TOO_LARGE');
  });
  it('that is refused is parked only if its handle was once granted', () => {
    const staleSubmission = submit(ada, 1, {}, { past_grant: testGrant(ada, 1) });
    const { loose_events: looseEvents } = given(...twoGrants)
      .when(staleSubmission, 5)
      .thenRefused('STALE_GENERATION', { work_lost: true, parked: 'result-aa11' });
    expect(looseEvents).toMatchObject([
      {
        event_type: 'RESULT_REJECTED',
        agent_id: 'ada',
        generation: 1,
        payload: { parked: true, rejection_reason: 'STALE_GENERATION' },
      },
    ]);
    expect(
      given(...twoGrants)
        .when(submit(eve, 1, {}, { past_grant: testGrant(ada, 1) }), 5)
        .thenRefused('STALE_GENERATION', { parked: null }).loose_events,
    ).toMatchObject([{ payload: { parked: false, verified: false } }]);
    expect(
      given(granted(ada, 0))
        .when(submit(bob, 1), 5)
        .thenRefused('SESSION_MISMATCH', { work_lost: true, parked: null }).loose_events,
    ).toMatchObject([{ payload: { parked: false, verified: false } }]);
    expect(
      given(...twoGrants)
        .when(submit(ada, 1, {}, { past_grant: testGrant(ada, 1), is_parking_full: true }), 5)
        .thenRefused('STALE_GENERATION', { parked: null }).loose_events,
    ).toMatchObject([{ agent_id: 'ada', payload: { parked: false } }]);
  });
  it('in a strict project must be committed before the lease ends, escalated or not', () => {
    for (const authority of ['granted', 'escalate'] as const) {
      const { decision } = given(granted(ada, 0))
        .under(strictRules)
        .when(submit(ada, 1, {}, { authority }), 10);
      expect(decision.not_after_ms).toBe(msAt(300));
    }
  });
  it('whose review is already pending is not recorded twice', () => {
    given(granted(ada, 0), escalated(1))
      .when(submit(ada, 1, {}, { authority: 'escalate' }), 2)
      .thenRefused('ESCALATED');
  });
});

table('suspend', [
  { code: 'NO_CLAIM', condition: '(never granted)', history: [], command: suspend(bob, 7) },
  {
    code: 'GENERATION_MISMATCH',
    history: [granted(ada, 0), released(1)],
    atSeconds: 400,
    command: suspend(bob, 2),
  },
  {
    code: 'NO_CLAIM',
    condition: '(released)',
    history: [granted(ada, 0), released(1)],
    atSeconds: 400,
    command: suspend(bob, 1),
  },
  { code: 'SESSION_MISMATCH', history: [granted(ada, 0)], atSeconds: 400, command: suspend(bob, 1) },
  { code: 'ALREADY_EXPIRED', history: [granted(ada, 0)], atSeconds: 300, command: suspend(ada, 1) },
  { code: 'SUSPENDED', history: [granted(ada, 0)], atSeconds: 299, command: suspend(ada, 1) },
]);

table('resume', [
  { code: 'NO_CLAIM', condition: '(never granted)', history: [], command: resume(bob, 7) },
  {
    code: 'GENERATION_MISMATCH',
    history: [granted(ada, 0), released(1)],
    atSeconds: 4000,
    command: resume(bob, 2),
  },
  {
    code: 'NO_CLAIM',
    condition: '(released)',
    history: [granted(ada, 0), released(1)],
    atSeconds: 4000,
    command: resume(bob, 1),
  },
  {
    code: 'SESSION_MISMATCH',
    history: [granted(ada, 0), suspended(1)],
    atSeconds: 4000,
    command: resume(bob, 1),
  },
  {
    code: 'ALREADY_EXPIRED',
    history: [granted(ada, 0), suspended(1)],
    atSeconds: 3601,
    command: resume(ada, 1),
  },
  { code: 'RESUMED', history: [granted(ada, 0), suspended(1)], atSeconds: 3600, command: resume(ada, 1) },
]);

describe('a suspension', () => {
  // req: HUM-002
  it('stops the lease and has its own deadline', () => {
    given(granted(ada, 0))
      .under({ suspend_max_seconds: 1000 })
      .when(suspend(ada, 1), 10)
      .thenEvents('SUSPENDED', ['CLAIM_SUSPENDED', { until: isoAt(1010) }]);
    given(granted(ada, 0), suspended(1)).when(claim(bob), 3600).thenRefused('DENIED_ACTIVE_CLAIM');
    given(granted(ada, 0), suspended(1))
      .when(claim(bob), 3601)
      .thenEvents('GRANTED', ['CLAIM_LOST'], ['CLAIM_ACQUIRED']);
  });
  it('ends with a full new lease', () => {
    given(granted(ada, 0), suspended(1))
      .when(resume(ada, 1), 3000)
      .thenEvents('RESUMED', ['CLAIM_RESUMED', { expires_at: isoAt(3300) }]);
  });
  it('is unchanged by a repeated suspend or resume, or by a renewal', () => {
    given(granted(ada, 0), suspended(1)).when(suspend(ada, 1), 2).thenReplayed('SUSPENDED');
    given(granted(ada, 0), suspended(1)).when(renew(ada, 1), 2).thenReplayed('RENEWED');
    given(granted(ada, 0)).when(resume(ada, 1), 2).thenReplayed('RESUMED');
  });
});

const underReview = [granted(ada, 0), escalated(1)];
const changesRequested = pastEvent('reviewed', 2, {
  decision: 'CHANGES_REQUESTED',
  iteration: 1,
  candidate_sha256: 'aa11',
  reviewer: 'hana',
});

table('record_review', [
  { code: 'STALE_REVIEW', condition: '(no gate)', history: [granted(ada, 0)], command: review(1) },
  {
    code: 'STALE_REVIEW',
    condition: '(another generation)',
    history: [...underReview, changesRequested],
    command: review(2),
  },
  {
    code: 'STALE_REVIEW',
    condition: '(another iteration)',
    history: [...underReview, changesRequested],
    command: review(1, { iteration: 2 }),
  },
  {
    code: 'STALE_REVIEW',
    condition: '(another candidate)',
    history: [...underReview, changesRequested],
    command: review(1, { candidate_sha256: 'bb22' }),
  },
  {
    code: 'ALREADY_DECIDED',
    condition: '(with another decision)',
    history: [...underReview, changesRequested, expired(3)],
    command: review(1),
  },
  {
    code: 'ALREADY_DECIDED',
    condition: '(by another reviewer)',
    history: [...underReview, changesRequested, expired(3)],
    command: review(1, { decision: 'CHANGES_REQUESTED', reviewer: 'ivo' }),
  },
  {
    code: 'STALE_REVIEW',
    condition: '(the gate has expired)',
    history: underReview,
    atSeconds: 3601,
    command: review(1),
  },
  {
    code: 'DEPENDENCY_CHANGED',
    condition: '(its inputs have changed)',
    history: underReview,
    atSeconds: 3600,
    command: review(1, { inputs: 'other' }),
  },
  { code: 'APPROVED', history: underReview, atSeconds: 3600, command: review(1) },
  { code: 'REJECTED', history: underReview, atSeconds: 3600, command: review(1, { decision: 'REJECTED' }) },
  {
    code: 'CHANGES_REQUESTED',
    history: underReview,
    atSeconds: 3600,
    command: review(1, { decision: 'CHANGES_REQUESTED' }),
  },
]);

describe('a review', () => {
  it('that approves accepts exactly the candidate that was escalated', () => {
    const { next } = given(...underReview)
      .when(review(1), 10)
      .thenEvents('APPROVED', ['REVIEW_COMPLETED'], ['RESULT_SUBMITTED', { result_sha256: 'aa11' }]);
    expect(next).toMatchObject({
      phase: 'COMPLETED',
      result: { sha256: 'aa11', generation: 1, agent_id: 'ada' },
    });
  });
  it('that rejects releases the claim and holds the subject for a person', () => {
    given(...underReview)
      .when(review(1, { decision: 'REJECTED', comment: 'no tests' }), 10)
      .thenEvents(
        'REJECTED',
        ['REVIEW_COMPLETED'],
        ['CLAIM_RELEASED', { reason: 'FORCED' }],
        ['TASK_HELD', { reason: 'rejected in review by hana: no tests' }],
      );
  });
  it('that requests changes gives the holder a new lease', () => {
    const { next } = given(...underReview)
      .when(review(1, { decision: 'CHANGES_REQUESTED' }), 1000)
      .thenEvents('CHANGES_REQUESTED', ['REVIEW_COMPLETED', { expires_at: isoAt(1300) }]);
    expect(next.claim).toMatchObject({ state: 'ACTIVE', expires_at_ms: msAt(1300) });
  });
  it('is idempotent, even if it completed the work', () => {
    given(...underReview, changesRequested)
      .when(review(1, { decision: 'CHANGES_REQUESTED' }), 10)
      .thenReplayed('CHANGES_REQUESTED');
    const approved = pastEvent('reviewed', 2, {
      decision: 'APPROVED',
      iteration: 1,
      candidate_sha256: 'aa11',
      reviewer: 'hana',
    });
    given(...underReview, approved, accepted(2))
      .when(review(1), 10)
      .thenReplayed('APPROVED');
    given(...underReview, approved, accepted(2))
      .when(review(1, { decision: 'REJECTED' }), 10)
      .thenRefused('ALREADY_DECIDED');
  });
});

table('force_release', [
  {
    code: 'GENERATION_MISMATCH',
    history: [granted(ada, 0), released(1)],
    command: { type: 'force_release', ...operatorFields(2) },
  },
  {
    code: 'NO_CLAIM',
    history: [granted(ada, 0), released(1)],
    command: { type: 'force_release', ...operatorFields(1) },
  },
  { code: 'FORCED', history: [granted(ada, 0)], command: { type: 'force_release', ...operatorFields(1) } },
  {
    code: 'FORCED',
    condition: '(expired)',
    history: [granted(ada, 0), expired(300)],
    atSeconds: 300,
    command: { type: 'force_release', ...operatorFields(1) },
  },
]);

const closedSessionFacts = {
  is_known_subject: false,
  is_session_closed: true,
  ...waitingFacts,
  ...limitFacts,
};
table('reassign', [
  {
    code: 'GENERATION_MISMATCH',
    history: [...twoGrants, accepted(3)],
    command: reassign(1, eve, { lease_seconds: 1 }, closedSessionFacts),
    rules: twoGenerations,
  },
  {
    code: 'INVALID_LEASE',
    history: [...twoGrants, accepted(3)],
    command: reassign(2, eve, { lease_seconds: 1 }, closedSessionFacts),
    rules: twoGenerations,
  },
  {
    code: 'UNKNOWN_TASK',
    history: [...twoGrants, accepted(3)],
    command: reassign(2, eve, {}, closedSessionFacts),
    rules: twoGenerations,
  },
  {
    code: 'SESSION_CLOSED',
    history: [...twoGrants, accepted(3)],
    command: reassign(2, eve, {}, { ...closedSessionFacts, is_known_subject: true }),
    rules: twoGenerations,
  },
  {
    code: 'DENIED_COMPLETED',
    history: [...twoGrants, accepted(3)],
    command: reassign(2, eve, {}, { ...waitingFacts, ...limitFacts }),
    rules: twoGenerations,
  },
  {
    code: 'DENIED_DEPENDENCIES',
    history: twoGrants,
    command: reassign(2, eve, {}, { ...waitingFacts, ...limitFacts }),
    rules: twoGenerations,
  },
  { code: 'DENIED_LIMIT', history: twoGrants, command: reassign(2, eve), rules: twoGenerations },
  {
    code: 'DENIED_LIMIT',
    condition: '(tenant)',
    history: twoGrants,
    command: reassign(2, eve, {}, limitFacts),
  },
  { code: 'REASSIGNED', history: twoGrants, command: reassign(2, eve) },
]);

describe('a reassignment', () => {
  // req: AUD-001, CLM-013
  it('supersedes the live claim and grants the next in one commit', () => {
    const { next } = given(granted(ada, 0))
      .when(reassign(1, bob), 10)
      .thenEvents(
        'REASSIGNED',
        ['CLAIM_LOST', { cause: 'SUPERSEDED', by: 'hana' }],
        ['CLAIM_ACQUIRED', { previous_generation: 1, previous_state: 'SUPERSEDED' }],
      );
    expect(next).toMatchObject({ generation: 2, claim: { agent_id: 'bob', state: 'ACTIVE' } });
  });
  it('ignores a backoff and lifts a hold', () => {
    given(...failed, held(5))
      .when(reassign(2, eve), 10)
      .thenEvents('REASSIGNED', ['TASK_UNHELD'], ['CLAIM_ACQUIRED']);
  });
});

table('reset', [
  {
    code: 'GENERATION_MISMATCH',
    history: [granted(ada, 0)],
    command: { type: 'reset', ...operatorFields(2) },
  },
  { code: 'NOT_COMPLETED', history: [granted(ada, 0)], command: { type: 'reset', ...operatorFields(1) } },
  {
    code: 'RESET',
    history: [granted(ada, 0), accepted(1)],
    command: { type: 'reset', ...operatorFields(1) },
  },
]);
table('hold', [
  {
    code: 'GENERATION_MISMATCH',
    history: [granted(ada, 0)],
    command: { type: 'hold', ...operatorFields(0) },
  },
  { code: 'HELD', history: [granted(ada, 0)], command: { type: 'hold', ...operatorFields(1) } },
]);
table('unhold', [
  {
    code: 'GENERATION_MISMATCH',
    history: [granted(ada, 0), held(1)],
    command: { type: 'unhold', ...operatorFields(0) },
  },
  { code: 'UNHELD', history: [granted(ada, 0), held(1)], command: { type: 'unhold', ...operatorFields(1) } },
]);

describe('a hold', () => {
  it('changes nothing if it is repeated, and neither does an unhold without a hold', () => {
    given(held(1, 'because'))
      .when({ type: 'hold', ...operatorFields(0) }, 2)
      .thenReplayed('HELD');
    given()
      .when({ type: 'unhold', ...operatorFields(0) }, 2)
      .thenReplayed('UNHELD');
  });
  it('is recorded again if its reason differs', () => {
    given(held(1))
      .when({ type: 'hold', ...operatorFields(0) }, 2)
      .thenEvents('HELD', ['TASK_HELD', { reason: 'because' }]);
  });
  it('clears failures and backoff when it is lifted', () => {
    const { next } = given(...failed, held(5))
      .when({ type: 'unhold', ...operatorFields(2) }, 6)
      .thenEvents('UNHELD', ['TASK_UNHELD']);
    expect(next).toMatchObject({ hold: null, failures: 0, last_error: null, retry_at_ms: null });
  });
});

const parkedResult = {
  from: { result_id: 'result-bb22', generation: 1, agent_id: 'ada', session_id: 's-1' },
  result: result('bb22', 1),
};
const importedResult = {
  from: {
    imported: true,
    event_id: '0d3e6a52-6d0b-8d5e-9a55-8c1f6b7d2c11',
    position: 7,
    source: 'old.jsonl',
  },
  result: result('cc33', 1),
} as const;
table('adopt', [
  { code: 'GENERATION_MISMATCH', history: [...twoGrants, accepted(3)], command: adopt(1, null) },
  { code: 'DENIED_COMPLETED', history: [...twoGrants, accepted(3)], command: adopt(2, null) },
  { code: 'UNKNOWN_RESULT', history: twoGrants, command: adopt(2, null) },
  { code: 'ADOPTED', history: twoGrants, command: adopt(2, parkedResult) },
]);

describe('an adoption', () => {
  it('completes the work under its own generation and names the original author', () => {
    const { next } = given(...twoGrants)
      .when(adopt(2, parkedResult), 10)
      .thenEvents(
        'ADOPTED',
        ['CLAIM_LOST', { cause: 'SUPERSEDED' }],
        ['CLAIM_ACQUIRED'],
        [
          'RESULT_ADOPTED',
          { adopted_from: { result_id: 'result-bb22', generation: 1, agent_id: 'ada', session_id: 's-1' } },
        ],
      );
    expect(next).toMatchObject({
      generation: 3,
      phase: 'COMPLETED',
      result: { generation: 3, sha256: 'bb22' },
    });
  });

  it('of imported work completes an edge that was never claimed, under the first generation', () => {
    const { next } = given()
      .when(adopt(0, importedResult), 10)
      .thenEvents('ADOPTED', ['CLAIM_ACQUIRED'], ['RESULT_ADOPTED', { adopted_from: importedResult.from }]);
    expect(next).toMatchObject({ generation: 1, phase: 'COMPLETED', result: { generation: 1 } });
  });
});

const holdRules = { stale_policy: 'hold', stale_threshold_seconds: 1800 } as const;
const expire = { type: 'expire' } as const;
table('expire', [
  { code: 'NOT_EXPIRED', condition: '(never granted)', history: [], command: expire },
  {
    code: 'NOT_EXPIRED',
    condition: '(already recorded)',
    history: [granted(ada, 0), expired(300)],
    atSeconds: 400,
    command: expire,
  },
  {
    code: 'NOT_EXPIRED',
    condition: '(released)',
    history: [granted(ada, 0), released(1)],
    atSeconds: 400,
    command: expire,
  },
  {
    code: 'NOT_EXPIRED',
    condition: '(lease still live)',
    history: [granted(ada, 0)],
    atSeconds: 299,
    command: expire,
  },
  { code: 'EXPIRED', history: [granted(ada, 0)], atSeconds: 300, command: expire },
  {
    code: 'NOT_EXPIRED',
    condition: '(within the margin)',
    history: [granted(ada, 0)],
    atSeconds: 301,
    command: expire,
    rules: { skew_margin_ms: 2000 },
  },
  {
    code: 'EXPIRED',
    condition: '(beyond the margin)',
    history: [granted(ada, 0)],
    atSeconds: 302,
    command: expire,
    rules: { skew_margin_ms: 2000 },
  },
  {
    code: 'NOT_EXPIRED',
    condition: '(under hold, not stale yet)',
    history: [granted(ada, 0)],
    atSeconds: 1799,
    command: expire,
    rules: holdRules,
  },
  { code: 'STALE', history: [granted(ada, 0)], atSeconds: 1800, command: expire, rules: holdRules },
  {
    code: 'EXPIRED',
    condition: '(under hold, past max_hold)',
    history: [granted(ada, 0, { max_hold_seconds: 900 })],
    atSeconds: 900,
    command: expire,
    rules: holdRules,
  },
]);

describe('the sweeper', () => {
  it('reports an inactive holder once per stale period', () => {
    const lost = pastEvent('lost', 1800, { cause: 'EXPIRED', disposition: 'held', expired_at: isoAt(1800) });
    const renewed = pastEvent('renewed', 2000, { lease_duration_seconds: 300, expires_at: isoAt(2300) });
    given(granted(ada, 0), lost).under(holdRules).when(expire, 1900).thenRefused('NOT_EXPIRED');
    given(granted(ada, 0), lost, renewed)
      .under(holdRules)
      .when(expire, 3800)
      .thenEvents('STALE', ['CLAIM_LOST', { disposition: 'held' }]);
  });
  // req: LSE-009
  it('never records an expiry before the store’s clock has reached it', () => {
    expect(given(granted(ada, 0)).when(expire, 310).thenEvents('EXPIRED', ['CLAIM_LOST']).not_before_ms).toBe(
      msAt(300),
    );
    for (const command of [
      { type: 'hold', ...operatorFields(1) },
      { type: 'force_release', ...operatorFields(1) },
      reassign(1, bob),
      submit(ada, 1),
      claim(bob),
    ] as const) {
      expect(
        given(granted(ada, 0)).under({ skew_margin_ms: 2000 }).when(command, 310).decision,
      ).toMatchObject({ ok: true, not_before_ms: msAt(302) });
    }
  });
  it('gives the same hold reason as a claim that is decided before the sweep', () => {
    const history = [granted(ada, 0), failedUntil(1, 6), granted(bob, 10)];
    const rules = { max_attempts: 2 };
    const hold_reason = '2 attempts in a row ended in error or expiry; the last: the lease ran out';
    given(...history)
      .under(rules)
      .when(claim(eve), 400)
      .thenRefused('DENIED_HELD', { hold_reason });
    given(...history)
      .under(rules)
      .when(expire, 400)
      .thenEvents('EXPIRED', ['CLAIM_LOST'], ['TASK_HELD', { reason: hold_reason }]);
  });
});

describe('a renewal', () => {
  it('never shortens the lease and never extends it beyond max_hold', () => {
    given(granted(ada, 0))
      .when(renew(ada, 1, 30), 10)
      .thenEvents('RENEWED', ['LEASE_RENEWED', { expires_at: isoAt(300) }]);
    given(granted(ada, 0, { max_hold_seconds: 400 }))
      .when(renew(ada, 1), 200)
      .thenEvents('RENEWED', ['LEASE_RENEWED', { expires_at: isoAt(400) }]);
  });
  // req: LSE-008
  it('must be committed before the lease ends', () => {
    expect(given(granted(ada, 0)).when(renew(ada, 1), 10).decision.not_after_ms).toBe(msAt(300));
  });
});

describe('a claim after a reset', () => {
  it('is granted under the next generation', () => {
    const { next } = given(granted(ada, 0), accepted(1), reset(2))
      .when(claim(bob), 3)
      .thenEvents('GRANTED', ['CLAIM_ACQUIRED']);
    expect(next).toMatchObject({ generation: 2, epoch: 1, phase: 'OPEN', result: null });
  });
});
