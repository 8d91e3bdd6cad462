import { expect, it } from 'vitest';
import type { HistoryRule } from './check/violation.js';
import { checkHistory } from './check.js';
import type { RecordedOutcome } from './history.js';
import { HistoryBuilder, LIMITS } from './testing/history-builder.js';

const TERMS = { limits: LIMITS, durable: true, skew_margin_ms: 0, tolerance_ms: 100 };
const S = 'A-001-one';
const UNKNOWN: RecordedOutcome = { kind: 'unknown', why: 'the line broke' };
const NO_EFFECT: RecordedOutcome = { kind: 'no_effect', why: 'UNAVAILABLE' };
const refused = (reason: string, reply = {}): RecordedOutcome => ({ kind: 'refused', reason, told: reply });

const rulesBroken = (builder: HistoryBuilder): HistoryRule[] => [
  ...new Set(checkHistory(builder, TERMS).map(({ rule }) => rule)),
];

const GOOD: Record<string, (story: HistoryBuilder) => void> = {
  'a task that is claimed, renewed and completed': (story) => {
    const held = story.claim('ada', S, { at: 0 });
    story.renew(held, { at: 500 });
    story.submit(held, { at: 900 });
    story.claim('ben', S, { at: 1000 });
    expect(story.last.answer).toMatchObject({ reason: 'DENIED_COMPLETED' });
  },
  'a takeover after which the zombie is refused everything': (story) => {
    const zombie = story.claim('ada', S, { at: 0 });
    story.claim('ben', S, { at: 500 });
    story.claim('ben', S, { at: 1500 });
    for (const act of ['renew', 'release', 'submit'] as const) {
      expect(story[act](zombie, { at: 2000 }).answer).toMatchObject({ kind: 'refused' });
    }
  },
  'a late result of a claim that was not taken over': (story) => {
    const held = story.claim('ada', S, { at: 0 });
    expect(story.renew(held, { at: 1500 }).answer).toMatchObject({ reason: 'ALREADY_EXPIRED' });
    expect(story.submit(held, { at: 2000 }).answer).toMatchObject({ kind: 'ok' });
  },
  'a claim whose lost reply is repeated': (story) => {
    story.claim('ada', S, { at: 0, request_id: 'r' });
    const { answer } = story.last;
    story.replaceLastOutcome(UNKNOWN);
    story.calls.push({ ...story.last, number: 2, invoked_ms: 100, returned_ms: 120, answer });
  },
  'calls without an effect': (story) => {
    story.claim('ada', S, { at: 0 });
    story.replaceLastOutcome(UNKNOWN).dropEvents();
    story.claim('ada', S, { at: 100 });
    story.replaceLastOutcome(NO_EFFECT).dropEvents();
    story.claim('ben', S, { at: 200 });
  },
  'a release that is confirmed twice and a renewal that is applied twice': (story) => {
    const held = story.claim('ada', S, { at: 0 });
    story.renew(held, { at: 100, request_id: 'r' });
    story.replaceLastOutcome(UNKNOWN);
    story.renew(held, { at: 200, request_id: 'r' });
    story.release(held, { at: 300, request_id: 'x' });
    story.replaceLastOutcome(UNKNOWN);
    expect(story.release(held, { at: 400, request_id: 'x' }).answer).toMatchObject({ kind: 'ok' });
  },
  'a repeated renewal under a slow clock that returns the same expiry': (story) => {
    const held = story.claim('ada', S, { at: 0 });
    const other = story.claim('ben', 'A-002-two', { at: 20 });
    story.renew(held, { at: 100, request_id: 'r' });
    story.replaceLastOutcome(UNKNOWN);
    story.renew(other, { at: 120 });
    story.renew(held, { at: 200, decided: 110, request_id: 'r' });
  },
  'a refusal caused by a claim whose reply arrived later': (story) => {
    story.claim('ada', S, { at: 0, decided: 10, returned: 900 });
    story.claim('ben', S, { at: 5, decided: 20 });
    expect(story.last.answer).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM' });
  },
  'slow replies except for one refusal': (story) => {
    const held = story.claim('ada', S, { at: 0, decided: 10, returned: 3000 });
    story.renew(held, { at: 1200 });
    expect(story.last.answer).toMatchObject({ reason: 'ALREADY_EXPIRED' });
  },
  'a reached limit that is free again after a lease expired': (story) => {
    story.claim('ada', 'A-001-one', { at: 0 });
    story.claim('ben', 'A-002-two', { at: 500 });
    story.claim('cleo', 'A-003-three', { at: 800 });
    expect(story.last.answer).toMatchObject({ reason: 'DENIED_LIMIT' });
    story.claim('cleo', 'A-003-three', { at: 1300 });
    expect(story.last.answer).toMatchObject({ kind: 'ok' });
  },
};

it.each(Object.entries(GOOD))('accepts %s', (_, tell) => {
  const story = new HistoryBuilder();
  tell(story);
  expect(checkHistory(story, TERMS)).toEqual([]);
});

const BAD: Record<string, { breaks: HistoryRule[]; tell: (story: HistoryBuilder) => void }> = {
  'a grant that was confirmed and lost': {
    breaks: ['LOST'],
    tell: (story) => {
      story.claim('ada', S, { at: 0 });
      story.dropEvents();
      story.claim('ben', S, { at: 100 });
    },
  },
  'a result that was confirmed and lost': {
    breaks: ['LOST'],
    tell: (story) => {
      story.submit(story.claim('ada', S, { at: 0 }), { at: 100 });
      story.dropEvents();
    },
  },
  'one generation that was granted to two agents': {
    breaks: ['INV-02', 'INV-03'],
    tell: (story) => {
      story.claim('ada', S, { at: 0 });
      story.duplicateLastEvent({ agent_id: 'ben', session_id: 'session-ben', request_id: 'claim-ben-5' });
      const { request: asked, ...call } = story.last;
      const ben = { ...asked, agent_id: 'ben', session_id: 'session-ben', request_id: 'claim-ben-5' };
      story.calls.push({ ...call, number: 2, request: ben, invoked_ms: 5 });
    },
  },
  'a takeover before the lease expired': {
    breaks: ['INV-03'],
    tell: (story) => {
      story.claim('ada', S, { at: 0 });
      story.duplicateLastEvent({
        agent_id: 'ben',
        session_id: 'session-ben',
        request_id: 'b',
        generation: 2,
      });
      const grant = story.events[1] as { payload: object };
      grant.payload = { ...grant.payload, previous_generation: 1, previous_state: 'ACTIVE' };
      const { request: asked, ...call } = story.last;
      const ben = { ...asked, agent_id: 'ben', session_id: 'session-ben', request_id: 'b' };
      const answer = { kind: 'ok', told: { generation: 2 } } as const;
      story.calls.push({ ...call, number: 2, request: ben, invoked_ms: 5, answer });
    },
  },
  'a refusal from an old view of the subject': {
    breaks: ['NO_REASON'],
    tell: (story) => {
      const held = story.claim('ada', S, { at: 0 });
      story.claim('ben', S, { at: 50 });
      const { answer } = story.last;
      story.release(held, { at: 100 });
      story.claim('ben', S, { at: 200 });
      story.replaceLastOutcome(answer).dropEvents();
    },
  },
  'a refusal that names a former holder': {
    breaks: ['NO_REASON'],
    tell: (story) => {
      const held = story.claim('ada', S, { at: 0 });
      story.claim('cleo', S, { at: 50 });
      const { answer } = story.last;
      story.release(held, { at: 100 });
      story.claim('ben', S, { at: 200 });
      story.claim('cleo', S, { at: 300 });
      story.replaceLastOutcome(answer);
    },
  },
  'a refusal without any reason': {
    breaks: ['NO_REASON'],
    tell: (story) => {
      story.claim('ada', S, { at: 0 });
      story.release({ subject: S, agent_id: 'ada', generation: 1 }, { at: 50 });
      story.claim('ben', S, { at: 100 });
      story.replaceLastOutcome(refused('DENIED_COMPLETED')).dropEvents();
    },
  },
  'a timely renewal that was refused as expired': {
    breaks: ['NO_REASON'],
    tell: (story) => {
      const held = story.claim('ada', S, { at: 0 });
      story.renew(held, { at: 300 });
      story.replaceLastOutcome(refused('ALREADY_EXPIRED')).dropEvents();
    },
  },
  'a claim that was refused because of an expired lease': {
    breaks: ['NO_REASON'],
    tell: (story) => {
      story.claim('ada', S, { at: 0 });
      story.claim('ben', S, { at: 500 });
      const { answer } = story.last;
      story.claim('ben', S, { at: 2000 });
      story.replaceLastOutcome(answer).dropEvents(2);
    },
  },
  'a claim that was refused for a limit that was not reached': {
    breaks: ['NO_REASON'],
    tell: (story) => {
      story.claim('ada', S, { at: 0 });
      story.claim('ben', 'A-002-two', { at: 100 });
      story.replaceLastOutcome(refused('DENIED_LIMIT', { limit: 'max_concurrent_claims' })).dropEvents();
    },
  },
  'an effect after a refusal': {
    breaks: ['NO_REASON', 'DONE_ALL_THE_SAME'],
    tell: (story) => {
      story.claim('ada', S, { at: 0 });
      story.replaceLastOutcome(refused('DENIED_ACTIVE_CLAIM'));
    },
  },
  'an effect of a call that was reported as having none': {
    breaks: ['DONE_ALL_THE_SAME'],
    tell: (story) => {
      story.claim('ada', S, { at: 0 });
      story.replaceLastOutcome(NO_EFFECT);
    },
  },
  'an order that real time contradicts': {
    breaks: ['ORDER'],
    tell: (story) => {
      const held = story.claim('ada', S, { at: 0 });
      story.renew(held, { at: 100 });
      story.release(held, { at: 200 });
      // Records the renewal as invoked after the release had returned.
      const [claim, renewal, release] = story.calls;
      if (!claim || !renewal || !release) throw new Error('three calls were made');
      story.calls[1] = { ...renewal, invoked_ms: 300, returned_ms: 310 };
    },
  },
  'a request that was granted twice': {
    breaks: ['DOUBLED'],
    tell: (story) => {
      const held = story.claim('ada', S, { at: 0, request_id: 'r' });
      story.release(held, { at: 100 });
      story.claim('ada', S, { at: 200, request_id: 'r' });
      story.replaceLastOutcome(UNKNOWN);
    },
  },
  'a request that was granted and then refused': {
    breaks: ['NO_REASON'],
    tell: (story) => {
      story.claim('ada', S, { at: 0, request_id: 'r' });
      story.claim('ada', S, { at: 100, request_id: 'r' });
      expect(story.last.answer).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM' });
    },
  },
  'a reply with the wrong generation': {
    breaks: ['TOLD_WRONG'],
    tell: (story) => {
      story.claim('ada', S, { at: 0 });
      story.replaceLastOutcome({ kind: 'ok', told: { generation: 2, claim_id: 'clm' } });
    },
  },
  'a reply with a longer lease than in the log': {
    breaks: ['TOLD_WRONG'],
    tell: (story) => {
      const held = story.claim('ada', S, { at: 0 });
      story.renew(held, { at: 100 });
      story.replaceLastOutcome({ kind: 'ok', told: { expires_at: '2030-01-01T00:00:00.000Z' } });
    },
  },
  'a reply that accepts a result of an old generation': {
    breaks: ['LOST'],
    tell: (story) => {
      const zombie = story.claim('ada', S, { at: 0 });
      story.submit(story.claim('ben', S, { at: 1500 }), { at: 1600 });
      story.submit(zombie, { at: 1700 });
      story.replaceLastOutcome({ kind: 'ok', told: {} });
    },
  },
  'a result of an old generation in the log': {
    breaks: ['INV-05', 'INV-17'],
    tell: (story) => {
      const zombie = story.claim('ada', S, { at: 0 });
      story.submit(story.claim('ben', S, { at: 1500 }), { at: 1600, request_id: 'r' });
      const accepted = story.events[story.events.length - 1] as HistoryBuilder['events'][number];
      const { request: asked } = story.last;
      story.events[story.events.length - 1] = { ...accepted, generation: 1, agent_id: 'ada' };
      const mine = { ...asked, agent_id: 'ada', session_id: asked.session_id, generation: zombie.generation };
      story.calls[story.calls.length - 1] = { ...story.last, request: mine };
    },
  },
  'an event that nobody requested': {
    breaks: ['UNASKED'],
    tell: (story) => {
      story.claim('ada', S, { at: 0 });
      story.calls.pop();
    },
  },
  'one live claim more than the limit': {
    breaks: ['LIMIT'],
    tell: (story) => {
      for (const agent of ['ada', 'ben']) story.claim(agent, `A-00${story.calls.length + 1}-x`, { at: 0 });
      const others = new HistoryBuilder();
      others.claim('cleo', 'A-003-x', { at: 100 });
      const [event] = others.events;
      if (event !== undefined) story.events.push({ ...event, event_id: 'event-3', position: 3 });
      story.calls.push({ ...others.last, number: 3 });
    },
  },
  'a gap in the positions': {
    breaks: ['INV-21'],
    tell: (story) => {
      story.release(story.claim('ada', S, { at: 0 }), { at: 100 });
      const last = story.events.pop();
      if (last !== undefined) story.events.push({ ...last, position: 3 });
    },
  },
  'a gap in the seqs of a subject': {
    breaks: ['INV-09'],
    tell: (story) => {
      story.release(story.claim('ada', S, { at: 0 }), { at: 100 });
      const last = story.events.pop();
      if (last !== undefined) story.events.push({ ...last, seq: 3 });
    },
  },
};

it.each(Object.entries(BAD))('rejects %s', (_, { breaks, tell }) => {
  const story = new HistoryBuilder();
  tell(story);
  expect(rulesBroken(story).sort()).toEqual([...breaks].sort());
});

it('describes a violation in a sentence, with the calls and events concerned', () => {
  const story = new HistoryBuilder();
  story.claim('ada', S, { at: 0 });
  story.replaceLastOutcome({ kind: 'ok', told: { generation: 2 } });
  const [found] = checkHistory(story, TERMS);
  expect(found?.message).toBe(
    'the reply names generation 2; the log has CLAIM_ACQUIRED of A-001-one generation 1 at position 1',
  );
  expect(found?.calls).toEqual(story.calls);
  expect(found?.events).toEqual(story.events);
});
