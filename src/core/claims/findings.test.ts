import { describe, expect, it } from 'vitest';
import { evolve } from './evolve.js';
import type { Head } from './head.js';
import {
  claim,
  operatorFields,
  release,
  renew,
  result,
  resume,
  review,
  submit,
  suspend,
  testGrant,
  testHandleOf,
} from './testing/commands.js';
import {
  accepted,
  ada,
  bob,
  EDGE,
  escalated,
  eve,
  expired,
  given,
  granted,
  isoAt,
  msAt,
  pastEvent,
  released,
  reset,
  suspended,
} from './testing/given.js';

// Each test names its finding: a rule of the specifications that, taken literally, lets two agents win or loses accepted work.

const takenOver = [granted(ada, 0), expired(300), granted(bob, 300)];
const expire = { type: 'expire' } as const;

describe('findings in the claim rules of the specifications', () => {
  // req: LSE-006, LSE-007
  it('F-01: a heartbeat does not revive a claim that has ended', () => {
    given().when(renew(ada, 1), 10).thenRefused('NO_CLAIM');
    given(granted(ada, 0), released(1)).when(renew(ada, 1), 10).thenRefused('NO_CLAIM');
    given(granted(ada, 0), accepted(1)).when(renew(ada, 1), 10).thenRefused('NO_CLAIM');
    given(granted(ada, 0), expired(300)).when(renew(ada, 1), 310).thenRefused('ALREADY_EXPIRED');
  });

  // req: LSE-004, LSE-005
  it('F-02: a heartbeat cannot extend a claim that another agent now holds', () => {
    given(...takenOver)
      .when(renew(ada, 1), 310)
      .thenRefused('GENERATION_MISMATCH');
    given(...takenOver)
      .when(renew(ada, 2), 310)
      .thenRefused('SESSION_MISMATCH');
  });

  it('F-03: a former holder cannot release its successor’s claim', () => {
    given(...takenOver)
      .when(release(ada, 1), 310)
      .thenRefused('GENERATION_MISMATCH');
    given(...takenOver)
      .when(release(ada, 2), 310)
      .thenRefused('SESSION_MISMATCH');
  });

  it('F-04: completed work is not claimed and completed a second time', () => {
    given(granted(ada, 0), accepted(1)).when(claim(bob), 10).thenRefused('DENIED_COMPLETED');
    given(granted(ada, 0), accepted(1)).on(EDGE).when(claim(bob), 10).thenRefused('DENIED_COMPLETED');
  });

  // req: CLK-001
  it('F-05: the generation is kept, however a claim ends', () => {
    const endings = [[released(1)], [expired(300)], [accepted(1), reset(2)]];
    for (const ending of endings) {
      const { next } = given(granted(ada, 0), ...ending).when(claim(ada), 400).decision;
      expect(next.generation).toBe(2);
    }
  });

  it('F-06: a new grant to the same agent id does not make the old handle valid', () => {
    const regranted = given(granted(ada, 0), released(1), granted(ada, 2));
    regranted.when(submit(ada, 1), 10).thenRefused('STALE_GENERATION');
    regranted.when(renew(ada, 1), 10).thenRefused('GENERATION_MISMATCH');
    const stolen = { ...testHandleOf(ada, 2), claim_id: testHandleOf(ada, 1).claim_id };
    regranted
      .when({ type: 'release', handle: stolen, reason: 'VOLUNTARY', message: null }, 10)
      .thenRefused('SESSION_MISMATCH');
  });

  // req: EVT-015
  it('F-09: no head changes without events that describe the whole change', () => {
    const { head, next, events } = given(granted(ada, 0))
      .when(claim(bob), 300)
      .thenEvents('GRANTED', ['CLAIM_LOST'], ['CLAIM_ACQUIRED']);
    expect(events.map((event) => event.seq)).toEqual([2, 3]);
    expect(events.reduce<Head>(evolve, head)).toEqual(next);
  });

  // req: CLK-009
  it('F-13: a generation above the head’s, as after a restored store, is refused and changes no head', () => {
    const { next } = given(granted(ada, 0))
      .when(submit(ada, 5), 10)
      .thenRefused('FUTURE_GENERATION', { work_lost: false });
    expect(next.generation).toBe(1);
  });

  // req: STL-003, STL-007
  it('F-19: under hold a stale claim stays held until a person or max_hold ends it', () => {
    const edge = given(granted(ada, 0)).on(EDGE);
    edge.when(claim(bob), 100_000).thenRefused('DENIED_ACTIVE_CLAIM', { stale: true });
    edge.when(expire, 100_000).thenEvents('STALE', ['claim_expired', { disposition: 'held' }]);
    edge.when(renew(ada, 1), 100_000).thenEvents('RENEWED', ['heartbeat']);
    const capped = given(granted(ada, 0, { max_hold_seconds: 900 })).on(EDGE);
    capped.when(claim(bob), 899).thenRefused('DENIED_ACTIVE_CLAIM');
    capped
      .when(claim(bob), 900)
      .thenEvents('GRANTED', ['claim_expired', { disposition: 'eligible' }], ['edge_started']);
  });

  it('F-33: a result after expiry is treated the same whether or not the sweeper came first', () => {
    given(granted(ada, 0))
      .when(submit(ada, 1), 400)
      .thenEvents('ACCEPTED', ['CLAIM_LOST'], ['RESULT_SUBMITTED', { late: true }]);
    given(granted(ada, 0), expired(300))
      .when(submit(ada, 1), 400)
      .thenEvents('ACCEPTED', ['RESULT_SUBMITTED', { late: true }]);
    const strict = { late_submit: 'reject' } as const;
    for (const history of [[granted(ada, 0)], [granted(ada, 0), expired(300)]]) {
      given(...history)
        .under(strict)
        .when(submit(ada, 1), 400)
        .thenRefused('LEASE_EXPIRED', { work_lost: true, parked: 'result-aa11' });
    }
  });

  it('F-34: after a takeover and a release, the result of the first holder is refused as stale', () => {
    given(...takenOver, released(310))
      .when(submit(ada, 1), 320)
      .thenRefused('STALE_GENERATION');
  });

  it('F-36: a higher generation does not overwrite an accepted result', () => {
    const completed = given(granted(ada, 0), accepted(1));
    completed.when(submit(bob, 2, { result: result('bb22', 2) }), 10).thenRefused('FUTURE_GENERATION');
    completed.when(submit(ada, 1, { result: result('bb22', 1) }), 10).thenRefused('TASK_ALREADY_COMPLETED');
  });

  it('F-37: a forged future generation leaves no trace on the head, parks nothing and is recorded', () => {
    const { loose_events } = given(granted(ada, 0))
      .when(submit(bob, 9), 10)
      .thenRefused('FUTURE_GENERATION', { parked: null });
    expect(loose_events).toMatchObject([{ payload: { parked: false, verified: false } }]);
  });

  // req: RCV-006, RES-005
  it('F-38: the winner’s repeated result succeeds, another session’s result does not', () => {
    given(granted(ada, 0), accepted(1)).when(submit(ada, 1), 10).thenReplayed('ACCEPTED');
    given(granted(ada, 0), accepted(1)).when(submit(bob, 1), 10).thenRefused('TASK_ALREADY_COMPLETED');
  });

  it('F-39: an agent of the same session cannot act on another agent’s claim', () => {
    const claimOfAda = given(granted(ada, 0));
    claimOfAda.when(renew(eve, 1), 10).thenRefused('SESSION_MISMATCH');
    claimOfAda.when(release(eve, 1), 10).thenRefused('SESSION_MISMATCH');
    claimOfAda.when(submit(eve, 1), 10).thenRefused('SESSION_MISMATCH');
    claimOfAda.when(suspend(eve, 1), 10).thenRefused('SESSION_MISMATCH');
    given(granted(ada, 0), suspended(1)).when(resume(eve, 1), 10).thenRefused('SESSION_MISMATCH');
  });

  // req: RES-004
  it('F-46: a reset reopens the work, keeps the generation and revives no old handle', () => {
    const { next } = given(granted(ada, 0), accepted(1))
      .when({ type: 'reset', ...operatorFields(1) }, 10)
      .thenEvents('RESET', ['TASK_RESET', { epoch: 1 }]);
    expect(next).toMatchObject({ generation: 1, epoch: 1, phase: 'OPEN', result: null });
    const reopened = given(granted(ada, 0), accepted(1), reset(2));
    reopened.when(submit(ada, 1), 10).thenRefused('NO_CLAIM');
    reopened.when(renew(ada, 1), 10).thenRefused('NO_CLAIM');
    given(granted(ada, 0), accepted(1), reset(2), granted(bob, 3))
      .when(submit(ada, 1), 10)
      .thenRefused('STALE_GENERATION');
  });

  it('F-47: a merge is accepted only for the results it was granted for', () => {
    given()
      .when(claim(ada, {}, { waiting_for: ['A-001-core::2'] }), 10)
      .thenRefused('DENIED_DEPENDENCIES');
    const merging = given(granted(ada, 0, { inputs: '1 aa, 1 bb' }));
    merging
      .when(submit(ada, 1, {}, { inputs: '1 aa, 2 cc' }), 10)
      .thenRefusedToHolder('DEPENDENCY_CHANGED', { work_lost: true, parked: 'result-aa11' });
    merging
      .when(submit(ada, 1, {}, { inputs: '1 aa, 1 bb' }), 10)
      .thenEvents('ACCEPTED', ['RESULT_SUBMITTED']);
  });

  // req: EDG-007, RES-002
  it('F-60: a submission or a release by a non-holder frees nothing', () => {
    const edge = given(granted(ada, 0)).on(EDGE);
    edge.when(submit(bob, 1), 10).thenRefused('SESSION_MISMATCH');
    edge.when(release(bob, 1), 10).thenRefused('SESSION_MISMATCH');
    given().on(EDGE).when(submit(bob, 0), 10).thenRefused('NO_CLAIM');
    given().on(EDGE).when(release(bob, 0), 10).thenRefused('NO_CLAIM');
  });

  it('F-72: two agents named primary are distinguished, and a claim without a lease is live', () => {
    const primary = { ...ada, agent_id: 'primary' };
    const other = { ...bob, agent_id: 'primary' };
    const working = given(granted(primary, 0, { lease_seconds: null })).on(EDGE);
    working.when(claim(other), 1_000_000).thenRefused('DENIED_ACTIVE_CLAIM');
    working.when(submit(other, 1), 1_000_000).thenRefused('SESSION_MISMATCH');
    const task = given(granted(primary, 0, { lease_seconds: null }));
    task.when(claim(other), 1_000_000).thenRefused('DENIED_ACTIVE_CLAIM');
  });
});

describe('findings in the review gates of the specifications', () => {
  const approvedOf = (candidate_sha256: string) =>
    pastEvent('reviewed', 2, {
      decision: 'APPROVED',
      iteration: 1,
      candidate_sha256,
      reviewer: 'hana',
      lease_duration_seconds: 300,
      expires_at: isoAt(302),
    });
  const gate = { iteration: 1, candidate_sha256: 'aa11' };

  it('F-92: approval of one candidate does not approve another, whatever the role', () => {
    const reviewed = given(granted(ada, 0), suspended(1, gate), approvedOf('aa11'));
    for (const authority of ['granted', 'escalate'] as const) {
      const other = submit(ada, 1, { result: result('bb22') }, { authority });
      expect(reviewed.when(other, 10).decision).toMatchObject({
        ok: false,
        code: 'ESCALATED',
        next: { phase: 'OPEN', claim: { state: 'SUSPENDED' } },
      });
      reviewed.when(submit(ada, 1, {}, { authority }), 10).thenEvents('ACCEPTED', ['RESULT_SUBMITTED']);
    }
  });

  it('F-92: a candidate after requested changes is reviewed again', () => {
    const changes = pastEvent('reviewed', 2, {
      decision: 'CHANGES_REQUESTED',
      ...gate,
      reviewer: 'hana',
      lease_duration_seconds: 300,
      expires_at: isoAt(302),
    });
    expect(given(granted(ada, 0), suspended(1, gate), changes).when(submit(ada, 1), 10).decision.code).toBe(
      'ESCALATED',
    );
  });

  it('F-92: a suspension without a gate does not close an open gate', () => {
    const resumed = pastEvent('resumed', 2, { lease_duration_seconds: 300, expires_at: isoAt(302) });
    expect(
      given(granted(ada, 0), suspended(1, gate), resumed, suspended(3), resumed).when(submit(ada, 1), 10)
        .decision.code,
    ).toBe('ESCALATED');
  });

  it('F-92: a decision applies to one candidate and only once', () => {
    const waiting = given(granted(ada, 0), escalated(1));
    waiting.when(review(1, { candidate_sha256: 'bb22' }), 10).thenRefused('STALE_REVIEW');
    given(granted(ada, 0), escalated(1), approvedOf('aa11'), accepted(2))
      .when(review(1, { decision: 'REJECTED' }), 10)
      .thenRefused('ALREADY_DECIDED');
    given(granted(ada, 0), escalated(1), expired(3601), granted(bob, 3601))
      .when(review(1), 3700)
      .thenRefused('STALE_REVIEW');
  });

  // req: ROL-002
  it('F-96: a result outside the role’s authority is escalated, not accepted', () => {
    const { decision } = given(granted(ada, 0))
      .on(EDGE)
      .when(submit(ada, 1, {}, { authority: 'escalate' }), 10);
    expect(decision).toMatchObject({
      ok: false,
      code: 'ESCALATED',
      next: { phase: 'OPEN', claim: { state: 'SUSPENDED' } },
    });
    expect(decision.events.map((event) => event.event_type)).toEqual(['convergence_escalated']);
  });
});

describe('a late candidate that needs a person', () => {
  const lateSubmission = submit(ada, 1, {}, { authority: 'escalate' });

  it('suspends the claim again and does not count as a failure', () => {
    const { next } = given(granted(ada, 0)).when(lateSubmission, 400).decision;
    expect(next).toMatchObject({ failures: 0, claim: { state: 'SUSPENDED', release_reason: null } });
  });

  it('opens a new gate if the first has expired, whether or not the sweeper came first', () => {
    for (const history of [
      [granted(ada, 0), escalated(1)],
      [granted(ada, 0), escalated(1), expired(3601)],
    ]) {
      const { next } = given(...history).when(lateSubmission, 4000).decision;
      expect(next.claim?.suspended_until_ms).toBeGreaterThan(msAt(4000));
    }
  });

  it('is parked if max_hold has passed', () => {
    given(granted(ada, 0, { max_hold_seconds: 900 }))
      .on(EDGE)
      .when(lateSubmission, 900)
      .thenRefused('LEASE_EXPIRED', { parked: 'result-aa11' });
  });

  it('is parked if another agent holds the work', () => {
    given(...takenOver)
      .when(submit(ada, 1, {}, { authority: 'escalate', past_grant: testGrant(ada, 1) }), 310)
      .thenRefused('STALE_GENERATION', { parked: 'result-aa11' });
  });
});
