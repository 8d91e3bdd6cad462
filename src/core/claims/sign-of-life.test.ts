import { describe, expect, it } from 'vitest';
import type { ClaimHandle, DecisionContext, SubjectCommand } from './commands.js';
import { stepReporterFault } from './decide/handle.js';
import { signOfLife } from './decide/sign-of-life.js';
import type { Gate, Head } from './head.js';
import { isStale } from './lease.js';
import type { Rules } from './policy.js';
import { result, submit, testHandleOf } from './testing/commands.js';
import {
  ada,
  bob,
  claimIdOf,
  EDGE,
  EDGE_RULES,
  given,
  granted,
  msAt,
  released,
  suspended,
} from './testing/given.js';

const note = (worker: typeof ada, generation: number): SubjectCommand<'note'> => ({
  type: 'note',
  handle: testHandleOf(worker, generation),
  text: 'half done',
});
const tooLarge = submit(ada, 1, { result: { ...result(), size_bytes: 51 } });
const sizeLimit = { max_result_size_bytes: 50 };

describe('a sign of life', () => {
  // req: STL-008
  it('is every note and every refused submission of the holder, and leaves the lease as it was', () => {
    given(granted(ada, 0)).when(note(ada, 1), 200).thenOnlyActive();
    const { next } = given(granted(ada, 0))
      .under(sizeLimit)
      .when(tooLarge, 200)
      .thenRefusedToHolder('RESULT_TOO_LARGE');
    expect(next.claim).toMatchObject({ active_at_ms: msAt(200), expires_at_ms: msAt(300) });
  });

  it('keeps an edge that is worked on from becoming stale, however old its last heartbeat is', () => {
    const { head, next } = given(granted(ada, 0)).on(EDGE).when(note(ada, 1), 1799).decision;
    expect(isStale(head, msAt(3000), EDGE_RULES)).toBe(true);
    expect(isStale(next, msAt(3000), EDGE_RULES)).toBe(false);
  });

  it('must be committed before the lease ends, and revives no claim whose lease has ended', () => {
    expect(given(granted(ada, 0)).when(note(ada, 1), 299).decision.not_after_ms).toBe(msAt(300));
    const late = given(granted(ada, 0)).when(note(ada, 1), 300).decision;
    expect(late).toMatchObject({ ok: true, code: 'NOTED', events: [] });
    expect(late.next).toBe(late.head);
  });

  it('is not recorded for a suspended claim, which waits for a person', () => {
    const { decision } = given(granted(ada, 0), suspended(1)).when(note(ada, 1), 10);
    expect(decision).toMatchObject({ ok: true, events: [] });
  });

  it('is not recorded if the holder was active at the same time', () => {
    expect(given(granted(ada, 0)).when(note(ada, 1), 0).decision.events).toEqual([]);
  });

  it('cannot come from another session or agent', () => {
    given(granted(ada, 0)).when(note(bob, 1), 10).thenRefused('SESSION_MISMATCH');
    given(granted(ada, 0)).when(submit(bob, 1), 10).thenRefused('SESSION_MISMATCH');
    given(granted(ada, 0), released(1), granted(bob, 2))
      .when(submit(ada, 1), 10)
      .thenRefused('STALE_GENERATION');
  });
});

describe('the record of a refused submission', () => {
  // req: AUD-004
  it('has the time from the grant to the submission, if there was a grant', () => {
    const { loose_events } = given(granted(ada, 0)).under(sizeLimit).when(tooLarge, 45).decision;
    expect(loose_events).toMatchObject([
      { payload: { metadata: { result_size_bytes: 51, processing_time_seconds: 45 } } },
    ]);
    const [accepted] = given(granted(ada, 0)).when(submit(ada, 1), 45).decision.events;
    expect(accepted?.payload.metadata).toEqual({ processing_time_seconds: 45 });
    const [unclaimed] = given().when(submit(ada, 1), 45).thenRefused('NO_CLAIM').loose_events;
    expect(unclaimed?.payload.metadata).toEqual({ result_size_bytes: 10 });
  });

  it('names the sender if the handle is not valid, and has neither the claim id nor the content', () => {
    const content = { ...result(), data: 'secret' };
    const forged = { ...testHandleOf(bob, 1), session_id: ada.session_id };
    const [record] = given(granted(ada, 0))
      .when(submit(bob, 1, { handle: forged, result: content, sender: 'key-7' }), 5)
      .thenRefused('SESSION_MISMATCH').loose_events;
    expect(record).toMatchObject({
      agent_id: 'key-7',
      session_id: ada.session_id,
      payload: { rejection_reason: 'SESSION_MISMATCH', verified: false, parked: false, work_lost: true },
    });
    expect(JSON.stringify(record)).not.toContain(forged.claim_id);
    expect(JSON.stringify(record)).not.toContain('secret');
  });
});

describe('the sign of life of a reported step', () => {
  const headOf = (...events: Parameters<typeof given>) =>
    given(...events).when(note(ada, 1), 0).decision.head;
  const contextAt = (seconds: number, rules: Partial<Rules> = {}): DecisionContext => ({
    now_ms: msAt(seconds),
    rules: { ...EDGE_RULES, ...rules },
    claimIdOf: () => 'clm',
  });
  const typesAt = (seconds: number, rules?: Partial<Rules>) =>
    signOfLife(headOf(granted(ada, 0)), contextAt(seconds, rules)).events.map(({ event_type }) => event_type);

  it('is not recorded within five seconds of the last one', () => {
    expect([typesAt(4.9), typesAt(5)]).toEqual([[], ['LEASE_RENEWED']]);
  });

  it('is recorded at least ten times before the holder counts as inactive', () => {
    expect(typesAt(0.1, { stale_threshold_seconds: 1 })).toEqual(['LEASE_RENEWED']);
  });

  it('is recorded at once if the claim is recorded as stale', () => {
    const head = headOf(granted(ada, 0));
    const stale = { ...head, claim: { ...head.claim!, stale: true } };
    expect(signOfLife(stale, contextAt(0)).events).toHaveLength(1);
  });
});

describe('a step of a run', () => {
  const context = given(granted(ada, 0)).when(note(ada, 1), 10);
  it('is refused after an operator has taken the claim away, but not after the holder has ended it', () => {
    const { claim } = context.decision.head;
    const endedBy = (release_reason: 'FORCED' | 'COMPLETED', gate: Gate | null = null): Head => ({
      ...context.decision.head,
      claim: { ...claim!, state: 'RELEASED', release_reason },
      gate,
    });
    const concluding = { generation: 1, begins_run_or_wait: false, concludes_run: true };
    const reporterFault = (
      head: Head,
      handle: ClaimHandle | null = testHandleOf(ada, 1),
      step = concluding,
    ) => stepReporterFault(head, step, handle, { now_ms: msAt(10), rules: EDGE_RULES, claimIdOf });
    const rejected = { generation: 1, decision: 'REJECTED' } as Gate;
    expect(reporterFault(endedBy('FORCED'))).toBe('NO_CLAIM');
    expect(reporterFault(endedBy('FORCED', { ...rejected, generation: 0 }))).toBe('NO_CLAIM');
    expect(reporterFault(endedBy('FORCED', rejected))).toBeNull();
    expect(reporterFault(endedBy('COMPLETED'))).toBeNull();
    for (const other of [null, testHandleOf(bob, 1)]) {
      expect(reporterFault(endedBy('COMPLETED'), other)).toBe('NO_CLAIM');
      expect(reporterFault({ ...endedBy('COMPLETED'), phase: 'COMPLETED' }, other)).toBeNull();
      expect(reporterFault(endedBy('FORCED', rejected), other)).toBeNull();
      const ordinary = { ...concluding, concludes_run: false };
      expect(reporterFault({ ...endedBy('COMPLETED'), phase: 'COMPLETED' }, other, ordinary)).toBe(
        'NO_CLAIM',
      );
    }
    const start = { generation: 1, begins_run_or_wait: true, concludes_run: false };
    expect(reporterFault(endedBy('COMPLETED'), testHandleOf(ada, 1), start)).toBeNull();
    expect(reporterFault({ ...endedBy('COMPLETED'), phase: 'COMPLETED' }, testHandleOf(ada, 1), start)).toBe(
      'NO_CLAIM',
    );
  });
});
