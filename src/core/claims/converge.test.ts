import { describe, expect, it } from 'vitest';
import { checkNewEvent } from '../events/catalogue.js';
import type { ConvergenceFacts, EdgeFacts, SubmitFacts } from './commands.js';
import type { ConvergenceEvidence } from './head.js';
import { claim, operatorFields, reassign, result, review, submit } from './testing/commands.js';
import {
  ada,
  bob,
  type DecisionScenario,
  EDGE,
  escalated,
  given,
  granted,
  held,
  type PastEventBuilder,
} from './testing/given.js';

const SHA = 'ab'.repeat(32);
const evidence: ConvergenceEvidence = {
  iteration: 2,
  evaluators: {
    passed: 1,
    failed: 0,
    skipped: 0,
    total: 1,
    details: [{ name: 'tests_pass', result: 'pass' }],
  },
  convergence_type: 'standard',
  context_hash: 'sha256:77',
};
const candidate = { ...result(SHA, 1, EDGE), evidence };
const withConvergence = (fields: Partial<ConvergenceFacts> = {}): { convergence: ConvergenceFacts } => ({
  convergence: { failing: [], needs_human_review: false, authority_reason: null, ...fields },
});
const givenEdge = (...history: PastEventBuilder[]): DecisionScenario => given(...history).on(EDGE);
const submitConverged = (facts: Partial<SubmitFacts>) =>
  submit(ada, 1, { result: candidate }, { iteration: 2, ...facts });
const failing = [{ name: 'tests_pass', says: 'It failed.' }];

describe('an edge that converges', () => {
  it('records the iteration, the checks, the kind of convergence and the context', () => {
    const { decision } = givenEdge(granted(ada, 0)).when(submitConverged(withConvergence()), 5);
    expect(decision.events.map(({ event_type, payload }) => ({ event_type, ...payload }))).toMatchObject([
      { event_type: 'edge_converged', outcome: 'ACCEPTED', ...evidence },
    ]);
  });

  it('records the same evidence after approval by a person', () => {
    const { decision } = givenEdge(granted(ada, 0)).when(
      submitConverged(withConvergence({ needs_human_review: true })),
      5,
    );
    expect(decision).toMatchObject({ ok: false, code: 'ESCALATED' });
    expect(decision.events[0]?.payload).toMatchObject({ reason: 'human_review_required', ...evidence });
    expect(decision.next.claim?.state).toBe('SUSPENDED');
    const approved = givenEdge(granted(ada, 0), () => decision.events[0]!).when(
      review(1, { iteration: 2, candidate_sha256: SHA }),
      6,
    );
    expect(approved.decision.events.at(-1)).toMatchObject({
      event_type: 'edge_converged',
      payload: evidence,
    });
  });

  it('is refused while a required check fails: the claim stays, and nothing is lost or parked', () => {
    const { details, loose_events } = givenEdge(granted(ada, 0))
      .when(submitConverged(withConvergence({ failing, needs_human_review: true })), 5)
      .thenRefusedToHolder('NOT_CONVERGED');
    expect(details).toEqual({ work_lost: false, parked: null, failing });
    expect(loose_events).toMatchObject([
      {
        event_type: 'result_rejected',
        payload: {
          rejection_reason: 'NOT_CONVERGED',
          failing: failing.map(({ name }) => name),
          parked: false,
        },
      },
    ]);
  });

  it('is refused outside the role’s authority if outside_authority_action is reject, unless a person approved this candidate', () => {
    const rejectingFacts = { authority: 'reject', ...withConvergence() } as const;
    const { loose_events } = givenEdge(granted(ada, 0))
      .when(submitConverged(rejectingFacts), 5)
      .thenRefusedToHolder('OUTSIDE_AUTHORITY');
    expect(loose_events).toMatchObject([{ payload: { rejection_reason: 'OUTSIDE_AUTHORITY' } }]);
    const gate = { iteration: 2, candidate_sha256: SHA };
    const suspended = givenEdge(granted(ada, 0)).when(
      { type: 'suspend', handle: submitConverged({}).handle, gate },
      1,
    ).decision;
    const reviewed = givenEdge(granted(ada, 0), () => suspended.events[0]!).when(
      review(1, { iteration: 2, candidate_sha256: SHA }),
      2,
    ).decision;
    const history = [granted(ada, 0), () => suspended.events[0]!, () => reviewed.events[0]!];
    expect(givenEdge(...history).when(submitConverged(rejectingFacts), 5).decision.code).toBe('ACCEPTED');
  });

  it('cannot be approved while required checks fail, but can be rejected or sent back for changes', () => {
    const failing = [{ name: 'tests_pass', says: 'It failed.' }];
    const gate = { iteration: 2, candidate_sha256: SHA, failing };
    const suspended = givenEdge(granted(ada, 0)).when(
      { type: 'suspend', handle: submitConverged({}).handle, gate },
      1,
    ).decision;
    const decideGate = (decision: 'APPROVED' | 'CHANGES_REQUESTED' | 'REJECTED') =>
      givenEdge(granted(ada, 0), () => suspended.events[0]!).when(
        review(1, { iteration: 2, candidate_sha256: SHA, decision }),
        2,
      ).decision;
    const { code, details } = decideGate('APPROVED');
    expect([code, details.says]).toEqual([
      'NOT_CONVERGED',
      expect.stringContaining('tests_pass: It failed.'),
    ]);
    expect(decideGate('CHANGES_REQUESTED').ok).toBe(true);
    expect(decideGate('REJECTED').ok).toBe(true);
  });

  it('records which rule required the person', () => {
    const reasonOf = (facts: Partial<SubmitFacts>) =>
      givenEdge(granted(ada, 0)).when(submitConverged(facts), 5).decision.events[0]?.payload.reason;
    expect(
      reasonOf({ authority: 'escalate', ...withConvergence({ authority_reason: 'spec_mutation' }) }),
    ).toBe('spec_mutation');
    expect(reasonOf({ authority: 'escalate' })).toBe('outside_role_authority');
    expect(reasonOf(withConvergence({ needs_human_review: true }))).toBe('human_review_required');
  });

  it('is accepted outside the role’s authority if outside_authority_action is warn, and a loose event records it', () => {
    const warningFacts = {
      authority: 'warn',
      ...withConvergence({ authority_reason: 'outside_role_authority' }),
    } as const;
    const { decision } = givenEdge(granted(ada, 0)).when(submitConverged(warningFacts), 5);
    expect(decision).toMatchObject({ ok: true, code: 'ACCEPTED' });
    expect(decision.loose_events).toMatchObject([
      {
        event_type: 'convergence_escalated',
        agent_id: 'ada',
        payload: { action: 'warn', reason: 'outside_role_authority', iteration: 2, result_sha256: SHA },
      },
    ]);
    const writtenEvent = {
      event_id: '0198c5a2-7d5e-7b2c-9c1f-2f6f3c1d4e5a',
      tenant_id: 'acme',
      project_id: 'shop',
      ...decision.loose_events[0],
    };
    expect(checkNewEvent(writtenEvent)).toEqual({ ok: true });
    expect(checkNewEvent({ ...writtenEvent, seq: 2 })).toMatchObject({ ok: false });
  });

  it('waits for a review that is already pending', () => {
    const { decision } = givenEdge(granted(ada, 0), escalated(1)).when(submitConverged(withConvergence()), 5);
    expect(decision).toMatchObject({
      code: 'ESCALATED',
      events: [{ payload: { reason: 'review_pending' } }],
    });
  });
});

describe('a claim of an edge', () => {
  const edgeFacts: EdgeFacts = {
    unknown_message: null,
    is_second_agent: false,
    overlapping_claims: [],
    is_overlap_refused: false,
    warnings: [],
  };
  const overlappingClaims = [
    { subject: 'REQ-F-B#design_code', agent_id: 'bob', shared_modules: ['auth', 'db'] },
  ];

  it('of a single agent has no lease, whatever max_hold is', () => {
    const { decision } = givenEdge()
      .under({ max_hold_seconds: 60 })
      .when(claim(ada, { lease_seconds: null }, { edge: edgeFacts }), 0);
    expect(decision.events[0]?.payload).toMatchObject({ lease_duration_seconds: null, expires_at: null });
    expect(decision.next.claim).toMatchObject({ expires_at_ms: null, max_hold_until_ms: null });
    const later = givenEdge(granted(ada, 0, { lease_seconds: null })).when({ type: 'expire' }, 10 ** 8);
    expect(later.decision.code).toBe('NOT_EXPIRED');
  });

  it('that shares modules is granted with a warning, or refused if parallelism is enforced', () => {
    const warnings = ['bob touches auth too'];
    const warned = givenEdge().when(
      claim(ada, {}, { edge: { ...edgeFacts, overlapping_claims: overlappingClaims, warnings } }),
      0,
    ).decision;
    expect(warned).toMatchObject({ code: 'GRANTED', details: { warnings } });
    const refused = givenEdge().when(
      claim(
        ada,
        {},
        { edge: { ...edgeFacts, overlapping_claims: overlappingClaims, is_overlap_refused: true } },
      ),
      0,
    ).decision;
    expect(refused).toMatchObject({ code: 'DENIED_PARALLEL', details: { shared: overlappingClaims } });
    expect(refused.loose_events).toMatchObject([
      {
        event_type: 'claim_rejected',
        payload: { reason: 'DENIED_PARALLEL', holding_agent: 'bob', shared_modules: ['auth', 'db'] },
      },
    ]);
  });

  it('that does not exist is refused with the reason and not logged', () => {
    const facts = {
      is_known_subject: false,
      edge: { ...edgeFacts, unknown_message: 'There is no such feature.' },
    };
    const { decision } = givenEdge().when(claim(ada, {}, facts), 0);
    expect(decision).toMatchObject({
      code: 'UNKNOWN_TASK',
      loose_events: [],
      details: { says: 'There is no such feature.' },
    });
  });

  it('cannot be reassigned to a second agent or onto shared modules', () => {
    const reassignUnder = (facts: EdgeFacts) =>
      givenEdge(granted(ada, 0), held(1)).when(reassign(1, bob, {}, { edge: facts }), 2);
    expect(reassignUnder({ ...edgeFacts, is_second_agent: true }).decision.code).toBe('DENIED_SINGLE_AGENT');
    expect(
      reassignUnder({ ...edgeFacts, overlapping_claims: overlappingClaims, is_overlap_refused: true })
        .decision.code,
    ).toBe('DENIED_PARALLEL');
    expect(reassignUnder(edgeFacts).decision.code).toBe('REASSIGNED');
  });

  it('without a lease can be released by force', () => {
    const grant = granted(ada, 0, { lease_seconds: null });
    const forced = givenEdge(grant).when({ type: 'force_release', ...operatorFields(1) }, 10 ** 7).decision;
    expect(forced).toMatchObject({ code: 'FORCED' });
  });
});
