import { expect, it } from 'vitest';
import type { HistoryRule } from './check/violation.js';
import { checkHistory } from './check.js';
import type { RecordedOutcome } from './history.js';
import { HistoryBuilder, LIMITS } from './testing/history-builder.js';

const CHECK_OPTIONS = { limits: LIMITS, isDurable: true, skew_margin_ms: 0, tolerance_ms: 100 };
const SUBJECT = 'A-001-one';
const UNKNOWN: RecordedOutcome = { kind: 'unknown', why: 'the connection broke' };
const NO_EFFECT: RecordedOutcome = { kind: 'no_effect', why: 'UNAVAILABLE' };
const refusedOutcome = (reason: string, replyFields = {}): RecordedOutcome => ({
  kind: 'refused',
  reason,
  reply_fields: replyFields,
});

const rulesBroken = (builder: HistoryBuilder): HistoryRule[] => [
  ...new Set(checkHistory(builder, CHECK_OPTIONS).map(({ rule }) => rule)),
];

const ACCEPTED_HISTORIES: Record<string, (history: HistoryBuilder) => void> = {
  'a task that is claimed, renewed and completed': (history) => {
    const handle = history.claim('ada', SUBJECT, { at: 0 });
    history.renew(handle, { at: 500 });
    history.submit(handle, { at: 900 });
    history.claim('ben', SUBJECT, { at: 1000 });
    expect(history.last.outcome).toMatchObject({ reason: 'DENIED_COMPLETED' });
  },
  'a takeover after which every call of the zombie is refused': (history) => {
    const zombie = history.claim('ada', SUBJECT, { at: 0 });
    history.claim('ben', SUBJECT, { at: 500 });
    history.claim('ben', SUBJECT, { at: 1500 });
    for (const operation of ['renew', 'release', 'submit'] as const) {
      expect(history[operation](zombie, { at: 2000 }).outcome).toMatchObject({ kind: 'refused' });
    }
  },
  'a late result of a claim that was not taken over': (history) => {
    const handle = history.claim('ada', SUBJECT, { at: 0 });
    expect(history.renew(handle, { at: 1500 }).outcome).toMatchObject({ reason: 'ALREADY_EXPIRED' });
    expect(history.submit(handle, { at: 2000 }).outcome).toMatchObject({ kind: 'ok' });
  },
  'a claim whose lost reply is repeated': (history) => {
    history.claim('ada', SUBJECT, { at: 0, request_id: 'r' });
    const { outcome } = history.last;
    history.replaceLastOutcome(UNKNOWN);
    history.calls.push({ ...history.last, call_number: 2, invoked_ms: 100, returned_ms: 120, outcome });
  },
  'a claim that its session resumes, renewed meanwhile': (history) => {
    const handle = history.claim('ada', SUBJECT, { at: 0 });
    history.renew(handle, { at: 500 });
    history.claim('ada', SUBJECT, { at: 900, resume: true });
    expect(history.last.outcome).toMatchObject({
      kind: 'ok',
      reply_fields: { generation: 1, resumed: true },
    });
    history.claim('ben', SUBJECT, { at: 1000, resume: true });
    expect(history.last.outcome).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM' });
    history.claim('ada', SUBJECT, { at: 1600, resume: true });
    expect(history.last.outcome).toMatchObject({ kind: 'ok', reply_fields: { generation: 2 } });
  },
  'calls without an effect': (history) => {
    history.claim('ada', SUBJECT, { at: 0 });
    history.replaceLastOutcome(UNKNOWN).dropEvents();
    history.claim('ada', SUBJECT, { at: 100 });
    history.replaceLastOutcome(NO_EFFECT).dropEvents();
    history.claim('ben', SUBJECT, { at: 200 });
  },
  'a release that is confirmed twice and a renewal that is applied twice': (history) => {
    const handle = history.claim('ada', SUBJECT, { at: 0 });
    history.renew(handle, { at: 100, request_id: 'r' });
    history.replaceLastOutcome(UNKNOWN);
    history.renew(handle, { at: 200, request_id: 'r' });
    history.release(handle, { at: 300, request_id: 'x' });
    history.replaceLastOutcome(UNKNOWN);
    expect(history.release(handle, { at: 400, request_id: 'x' }).outcome).toMatchObject({ kind: 'ok' });
  },
  'a repeated renewal under a slow clock that returns the same expiry': (history) => {
    const handle = history.claim('ada', SUBJECT, { at: 0 });
    const other = history.claim('ben', 'A-002-two', { at: 20 });
    history.renew(handle, { at: 100, request_id: 'r' });
    history.replaceLastOutcome(UNKNOWN);
    history.renew(other, { at: 120 });
    history.renew(handle, { at: 200, decided: 110, request_id: 'r' });
  },
  'a refusal caused by a claim whose reply arrived later': (history) => {
    history.claim('ada', SUBJECT, { at: 0, decided: 10, returned: 900 });
    history.claim('ben', SUBJECT, { at: 5, decided: 20 });
    expect(history.last.outcome).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM' });
  },
  'slow replies except for one refusal': (history) => {
    const handle = history.claim('ada', SUBJECT, { at: 0, decided: 10, returned: 3000 });
    history.renew(handle, { at: 1200 });
    expect(history.last.outcome).toMatchObject({ reason: 'ALREADY_EXPIRED' });
  },
  'a reached limit that is free again after a lease expired': (history) => {
    history.claim('ada', 'A-001-one', { at: 0 });
    history.claim('ben', 'A-002-two', { at: 500 });
    history.claim('cleo', 'A-003-three', { at: 800 });
    expect(history.last.outcome).toMatchObject({ reason: 'DENIED_LIMIT' });
    history.claim('cleo', 'A-003-three', { at: 1300 });
    expect(history.last.outcome).toMatchObject({ kind: 'ok' });
  },
};

it.each(Object.entries(ACCEPTED_HISTORIES))('accepts %s', (_, record) => {
  const history = new HistoryBuilder();
  record(history);
  expect(checkHistory(history, CHECK_OPTIONS)).toEqual([]);
});

const REJECTED_HISTORIES: Record<
  string,
  { breaks: HistoryRule[]; record: (history: HistoryBuilder) => void }
> = {
  'a grant that was confirmed and lost': {
    breaks: ['LOST'],
    record: (history) => {
      history.claim('ada', SUBJECT, { at: 0 });
      history.dropEvents();
      history.claim('ben', SUBJECT, { at: 100 });
    },
  },
  'a result that was confirmed and lost': {
    breaks: ['LOST'],
    record: (history) => {
      history.submit(history.claim('ada', SUBJECT, { at: 0 }), { at: 100 });
      history.dropEvents();
    },
  },
  'one generation that was granted to two agents': {
    breaks: ['INV-02', 'INV-03'],
    record: (history) => {
      history.claim('ada', SUBJECT, { at: 0 });
      history.duplicateLastEvent({ agent_id: 'ben', session_id: 'session-ben', request_id: 'claim-ben-5' });
      const { request, ...call } = history.last;
      const ben = { ...request, agent_id: 'ben', session_id: 'session-ben', request_id: 'claim-ben-5' };
      history.calls.push({ ...call, call_number: 2, request: ben, invoked_ms: 5 });
    },
  },
  'a takeover before the lease expired': {
    breaks: ['INV-03'],
    record: (history) => {
      history.claim('ada', SUBJECT, { at: 0 });
      history.duplicateLastEvent({
        agent_id: 'ben',
        session_id: 'session-ben',
        request_id: 'b',
        generation: 2,
      });
      const grant = history.events[1] as { payload: object };
      grant.payload = { ...grant.payload, previous_generation: 1, previous_state: 'ACTIVE' };
      const { request, ...call } = history.last;
      const ben = { ...request, agent_id: 'ben', session_id: 'session-ben', request_id: 'b' };
      const outcome = { kind: 'ok', reply_fields: { generation: 2 } } as const;
      history.calls.push({ ...call, call_number: 2, request: ben, invoked_ms: 5, outcome });
    },
  },
  'a refusal from an old view of the subject': {
    breaks: ['NO_REASON'],
    record: (history) => {
      const handle = history.claim('ada', SUBJECT, { at: 0 });
      history.claim('ben', SUBJECT, { at: 50 });
      const { outcome } = history.last;
      history.release(handle, { at: 100 });
      history.claim('ben', SUBJECT, { at: 200 });
      history.replaceLastOutcome(outcome).dropEvents();
    },
  },
  'a refusal that names a former holder': {
    breaks: ['NO_REASON'],
    record: (history) => {
      const handle = history.claim('ada', SUBJECT, { at: 0 });
      history.claim('cleo', SUBJECT, { at: 50 });
      const { outcome } = history.last;
      history.release(handle, { at: 100 });
      history.claim('ben', SUBJECT, { at: 200 });
      history.claim('cleo', SUBJECT, { at: 300 });
      history.replaceLastOutcome(outcome);
    },
  },
  'a refusal without any reason': {
    breaks: ['NO_REASON'],
    record: (history) => {
      history.claim('ada', SUBJECT, { at: 0 });
      history.release({ subject: SUBJECT, agent_id: 'ada', generation: 1 }, { at: 50 });
      history.claim('ben', SUBJECT, { at: 100 });
      history.replaceLastOutcome(refusedOutcome('DENIED_COMPLETED')).dropEvents();
    },
  },
  'a timely renewal that was refused as expired': {
    breaks: ['NO_REASON'],
    record: (history) => {
      const handle = history.claim('ada', SUBJECT, { at: 0 });
      history.renew(handle, { at: 300 });
      history.replaceLastOutcome(refusedOutcome('ALREADY_EXPIRED')).dropEvents();
    },
  },
  'a claim that was refused because of an expired lease': {
    breaks: ['NO_REASON'],
    record: (history) => {
      history.claim('ada', SUBJECT, { at: 0 });
      history.claim('ben', SUBJECT, { at: 500 });
      const { outcome } = history.last;
      history.claim('ben', SUBJECT, { at: 2000 });
      history.replaceLastOutcome(outcome).dropEvents(2);
    },
  },
  'a claim that was refused for a limit that was not reached': {
    breaks: ['NO_REASON'],
    record: (history) => {
      history.claim('ada', SUBJECT, { at: 0 });
      history.claim('ben', 'A-002-two', { at: 100 });
      history
        .replaceLastOutcome(refusedOutcome('DENIED_LIMIT', { limit: 'max_concurrent_claims' }))
        .dropEvents();
    },
  },
  'an effect after a refusal': {
    breaks: ['NO_REASON', 'DONE_DESPITE_REFUSAL'],
    record: (history) => {
      history.claim('ada', SUBJECT, { at: 0 });
      history.replaceLastOutcome(refusedOutcome('DENIED_ACTIVE_CLAIM'));
    },
  },
  'an effect of a call that was reported as having none': {
    breaks: ['DONE_DESPITE_REFUSAL'],
    record: (history) => {
      history.claim('ada', SUBJECT, { at: 0 });
      history.replaceLastOutcome(NO_EFFECT);
    },
  },
  'an order that real time contradicts': {
    breaks: ['ORDER'],
    record: (history) => {
      const handle = history.claim('ada', SUBJECT, { at: 0 });
      history.renew(handle, { at: 100 });
      history.release(handle, { at: 200 });
      // Records the renewal as invoked after the release had returned.
      const [claim, renewal, release] = history.calls;
      if (!claim || !renewal || !release) throw new Error('three calls were made');
      history.calls[1] = { ...renewal, invoked_ms: 300, returned_ms: 310 };
    },
  },
  'a request that was granted twice': {
    breaks: ['DOUBLED'],
    record: (history) => {
      const handle = history.claim('ada', SUBJECT, { at: 0, request_id: 'r' });
      history.release(handle, { at: 100 });
      history.claim('ada', SUBJECT, { at: 200, request_id: 'r' });
      history.replaceLastOutcome(UNKNOWN);
    },
  },
  'a request that was granted and then refused': {
    breaks: ['NO_REASON'],
    record: (history) => {
      history.claim('ada', SUBJECT, { at: 0, request_id: 'r' });
      history.claim('ada', SUBJECT, { at: 100, request_id: 'r' });
      expect(history.last.outcome).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM' });
    },
  },
  'a reply with the wrong generation': {
    breaks: ['WRONG_REPLY'],
    record: (history) => {
      history.claim('ada', SUBJECT, { at: 0 });
      history.replaceLastOutcome({ kind: 'ok', reply_fields: { generation: 2, claim_id: 'clm' } });
    },
  },
  'a reply with a longer lease than in the log': {
    breaks: ['WRONG_REPLY'],
    record: (history) => {
      const handle = history.claim('ada', SUBJECT, { at: 0 });
      history.renew(handle, { at: 100 });
      history.replaceLastOutcome({ kind: 'ok', reply_fields: { expires_at: '2030-01-01T00:00:00.000Z' } });
    },
  },
  'a claim that is resumed by another session': {
    breaks: ['WRONG_REPLY', 'NO_REASON'],
    record: (history) => {
      history.claim('ada', SUBJECT, { at: 0 });
      const { outcome } = history.last;
      history.claim('ben', SUBJECT, { at: 500, resume: true });
      if (outcome.kind === 'ok')
        history.replaceLastOutcome({ ...outcome, reply_fields: { ...outcome.reply_fields, resumed: true } });
    },
  },
  'a claim that is resumed after its lease': {
    breaks: ['NO_REASON'],
    record: (history) => {
      history.claim('ada', SUBJECT, { at: 0 });
      const { outcome } = history.last;
      history.claim('ada', 'A-002-two', { at: 1500, resume: true });
      const { request } = history.last;
      history.events.pop();
      history.calls[history.calls.length - 1] = {
        ...history.last,
        request: { ...request, subject: SUBJECT },
      };
      if (outcome.kind === 'ok')
        history.replaceLastOutcome({ ...outcome, reply_fields: { ...outcome.reply_fields, resumed: true } });
    },
  },
  'a reply that accepts a result of an old generation': {
    breaks: ['LOST'],
    record: (history) => {
      const zombie = history.claim('ada', SUBJECT, { at: 0 });
      history.submit(history.claim('ben', SUBJECT, { at: 1500 }), { at: 1600 });
      history.submit(zombie, { at: 1700 });
      history.replaceLastOutcome({ kind: 'ok', reply_fields: {} });
    },
  },
  'a result of an old generation in the log': {
    breaks: ['INV-05', 'INV-17'],
    record: (history) => {
      const zombie = history.claim('ada', SUBJECT, { at: 0 });
      history.submit(history.claim('ben', SUBJECT, { at: 1500 }), { at: 1600, request_id: 'r' });
      const accepted = history.events[history.events.length - 1] as HistoryBuilder['events'][number];
      const { request } = history.last;
      history.events[history.events.length - 1] = { ...accepted, generation: 1, agent_id: 'ada' };
      const oldRequest = {
        ...request,
        agent_id: 'ada',
        session_id: request.session_id,
        generation: zombie.generation,
      };
      history.calls[history.calls.length - 1] = { ...history.last, request: oldRequest };
    },
  },
  'an event that no call requested': {
    breaks: ['UNREQUESTED'],
    record: (history) => {
      history.claim('ada', SUBJECT, { at: 0 });
      history.calls.pop();
    },
  },
  'one live claim more than the limit': {
    breaks: ['LIMIT'],
    record: (history) => {
      for (const agent of ['ada', 'ben'])
        history.claim(agent, `A-00${history.calls.length + 1}-x`, { at: 0 });
      const others = new HistoryBuilder();
      others.claim('cleo', 'A-003-x', { at: 100 });
      const [event] = others.events;
      if (event !== undefined) history.events.push({ ...event, event_id: 'event-3', position: 3 });
      history.calls.push({ ...others.last, call_number: 3 });
    },
  },
  'a gap in the positions': {
    breaks: ['INV-21'],
    record: (history) => {
      history.release(history.claim('ada', SUBJECT, { at: 0 }), { at: 100 });
      const last = history.events.pop();
      if (last !== undefined) history.events.push({ ...last, position: 3 });
    },
  },
  'a gap in the seqs of a subject': {
    breaks: ['INV-09'],
    record: (history) => {
      history.release(history.claim('ada', SUBJECT, { at: 0 }), { at: 100 });
      const last = history.events.pop();
      if (last !== undefined) history.events.push({ ...last, seq: 3 });
    },
  },
};

it.each(Object.entries(REJECTED_HISTORIES))('rejects %s', (_, { breaks, record }) => {
  const history = new HistoryBuilder();
  record(history);
  expect(rulesBroken(history).sort()).toEqual([...breaks].sort());
});

it('describes a violation in a sentence, with its calls and events', () => {
  const history = new HistoryBuilder();
  history.claim('ada', SUBJECT, { at: 0 });
  history.replaceLastOutcome({ kind: 'ok', reply_fields: { generation: 2 } });
  const [first] = checkHistory(history, CHECK_OPTIONS);
  expect(first?.message).toBe(
    'the reply names generation 2; the log has CLAIM_ACQUIRED of A-001-one generation 1 at position 1',
  );
  expect(first?.calls).toEqual(history.calls);
  expect(first?.events).toEqual(history.events);
});
