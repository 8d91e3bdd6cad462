import { describe, expect, it } from 'vitest';
import type { EventEnvelope } from '../../../../src/core/contract/events.js';
import { acceptedPerMinute, addEvents, NO_ACTIVITY } from './activity.js';
import type { FeedEvent } from './feed-events.js';

const NOW = Date.parse('2026-05-01T12:00:00Z');
const TASK = 'A-012-parser';
let position = 0;

const event = (
  event_type: string,
  agent_id: string,
  generation: number,
  payload: EventEnvelope['payload'] = {},
  minutesAgo = 0,
): EventEnvelope => ({
  event_id: `e${position}`,
  event_type,
  timestamp: new Date(NOW - minutesAgo * 60_000).toISOString(),
  tenant_id: 't',
  project_id: 'p',
  position: ++position,
  subject: TASK,
  agent_id,
  generation,
  payload,
});
const granted = (agent: string, generation: number, previous_state = 'NONE') =>
  event('CLAIM_ACQUIRED', agent, generation, { previous_state });
const lost = (agent: string, generation: number) =>
  event('CLAIM_LOST', agent, generation, { cause: 'EXPIRED', disposition: 'eligible' });
const notableTexts = (...events: EventEnvelope[]): string[] =>
  addEvents(NO_ACTIVITY, events, NOW).notable.map(inWords);
const inWords = ({ label, before, subject, after }: FeedEvent): string =>
  `${label}: ${before}${subject}${after}`;

describe('notable events', () => {
  it('name who took work over from whom, and what the lost agent noted last', () => {
    const note = event('NOTE_ADDED', 'bob', 2, { text: 'out of memory' });
    expect(notableTexts(granted('bob', 2), note, lost('bob', 2), granted('ada', 3, 'EXPIRED'))).toEqual([
      `takeover: ada took over ${TASK} from bob, whose lease had expired (generation 3)`,
      `expired: bob went silent: its lease on ${TASK} has expired (generation 2). Its last note: “out of memory”`,
    ]);
  });

  it('name no note of an earlier holder', () => {
    const note = event('NOTE_ADDED', 'ada', 1, { text: 'half done' });
    expect(notableTexts(granted('ada', 1), note, granted('bob', 2), lost('bob', 2))).toEqual([
      `expired: bob went silent: its lease on ${TASK} has expired (generation 2)`,
    ]);
  });

  it('name a previous holder only if an event has named it, and no takeover by the same agent', () => {
    expect(notableTexts(granted('ada', 3, 'EXPIRED'))).toEqual([
      `takeover: ada took over ${TASK} (generation 3)`,
    ]);
    expect(notableTexts(granted('ada', 2), granted('ada', 3, 'EXPIRED'))).toEqual([
      `claimed again: ada claimed ${TASK} again (generation 3)`,
    ]);
  });

  it('leave out a claim that was refused because the work is completed', () => {
    const denied = event('CLAIM_REJECTED', 'ada', 1, { reason: 'DENIED_COMPLETED' });
    const { feed, notable } = addEvents(NO_ACTIVITY, [denied], NOW);
    expect(notable).toEqual([]);
    expect(feed.map(inWords)).toEqual([`completed: ada requested ${TASK}, which is completed`]);
  });

  it('name the limit that refused a claim, and say in words why a result needs a person', () => {
    const denied = event('CLAIM_REJECTED', 'ada', 1, { reason: 'DENIED_LIMIT', limit: 'max_sessions' });
    const escalated = event('RESULT_ESCALATED', 'ada', 1, { reason: 'outside_role_authority' });
    expect(notableTexts(denied, escalated)).toEqual([
      `waits: the result of ada for ${TASK} needs a person: outside role authority`,
      `refused: DENIED_LIMIT: ada requested ${TASK}: max_sessions is reached`,
    ]);
  });

  it('name a caller without a key anonymous', () => {
    expect(notableTexts(granted('open', 2), lost('open', 2), granted('ada', 3, 'EXPIRED'))[0]).toBe(
      `takeover: ada took over ${TASK} from anonymous, whose lease had expired (generation 3)`,
    );
  });

  it('say which rule refused a result, and whether it is kept', () => {
    const payload = { rejection_reason: 'STALE_GENERATION', submitted_generation: 2, current_generation: 3 };
    expect(notableTexts(event('RESULT_REJECTED', 'bob', 2, { ...payload, parked: true }))).toEqual([
      `refused, parked: the late result of bob for ${TASK} was refused (STALE_GENERATION): it is of generation 2, and generation 3 is current. It is kept and can be adopted.`,
    ]);
    expect(notableTexts(event('result_rejected', 'bob', 2, { ...payload, parked: false }))).toEqual([
      `refused: the late result of bob for ${TASK} was refused (STALE_GENERATION): it is of generation 2, and generation 3 is current.`,
    ]);
  });

  it('cut a long reason', () => {
    const [onHold = ''] = notableTexts(event('TASK_HELD', 'eve', 0, { by: 'eve', reason: 'x'.repeat(8000) }));
    expect(onHold).toMatch(/^on hold: eve put A-012-parser on hold: x+…$/);
    expect(onHold.length).toBeLessThan(300);
  });

  it('leave out ordinary events, and unknown types', () => {
    expect(
      notableTexts(granted('ada', 1), event('LEASE_RENEWED', 'ada', 1), event('other', 'ada', 1)),
    ).toEqual([]);
  });

  it('are newest first, and bounded', () => {
    const denied = Array.from({ length: 300 }, () => event('CLAIM_REJECTED', 'bob', 1, { reason: 'X' }));
    const { notable } = addEvents(NO_ACTIVITY, denied, NOW);
    expect(notable).toHaveLength(200);
    expect(notable[0]?.position).toBe(denied.at(-1)?.position);
  });
});

describe('everything', () => {
  it('also has plan changes, starts, notes and results', () => {
    const plan = event('PLAN_CHANGED', 'ada', 0, { record: { version: 1, task_count: 3 } });
    const note = event('NOTE_ADDED', 'ada', 1, { text: 'at work' });
    const done = event('RESULT_SUBMITTED', 'ada', 1);
    const { feed } = addEvents(NO_ACTIVITY, [plan, granted('ada', 1), note, done], NOW);
    expect(feed.map(inWords)).toEqual([
      `done: ada finished ${TASK}: the result of generation 1 is accepted`,
      `note: ada on ${TASK}: “at work”`,
      `started: ada started ${TASK} (generation 1)`,
      'plan: version 1 of the plan was imported: 3 tasks',
    ]);
  });
});

describe('a parked result', () => {
  it('is shown as adopted after its adoption, even if its row came with earlier events', () => {
    const denied = event('RESULT_REJECTED', 'bob', 1, {
      rejection_reason: 'STALE_GENERATION',
      submitted_generation: 1,
      current_generation: 2,
      parked: true,
      result_id: 'res_1',
    });
    const adopted = event('RESULT_ADOPTED', 'bob', 3, { by: 'open', adopted_from: { result_id: 'res_1' } });
    const before = addEvents(NO_ACTIVITY, [denied], NOW);
    expect(inWords(before.notable[0] as FeedEvent)).toMatch(/^refused, parked: .* can be adopted\.$/);
    const after = addEvents(before, [adopted], NOW);
    for (const rows of [after.notable, after.feed])
      expect(rows.map(inWords)).toEqual([
        `adopted: anonymous adopted a parked result for ${TASK}`,
        expect.stringMatching(/^refused: .* It was adopted later\.$/),
      ]);
  });
});

describe('the last outcome of an agent', () => {
  it('is known until it claims again', () => {
    const kindOf = (...events: EventEnvelope[]) =>
      addEvents(NO_ACTIVITY, events, NOW).outcomes.get('bob')?.kind;
    const events = [granted('bob', 1), lost('bob', 1), event('RESULT_REJECTED', 'bob', 1)];
    expect(kindOf(...events.slice(0, 2))).toBe('lost');
    expect(kindOf(...events)).toBe('result_refused');
    expect(kindOf(...events, granted('bob', 2))).toBe(undefined);
  });
});

describe('throughput', () => {
  it('counts accepted and adopted results of tasks and edges per minute, and drops those older than an hour', () => {
    const results = [
      event('RESULT_SUBMITTED', 'ada', 1, {}, 61),
      event('RESULT_SUBMITTED', 'ada', 1, {}, 59.5),
      event('edge_converged', 'ada', 1, {}, 0.5),
      event('RESULT_ADOPTED', 'ada', 1, { by: 'eve' }, 0.2),
    ];
    const { acceptedAtMs } = addEvents(NO_ACTIVITY, results, NOW);
    expect(acceptedAtMs).toHaveLength(3);
    const counts = acceptedPerMinute(acceptedAtMs, NOW);
    expect([counts.length, counts[0], counts[59]]).toEqual([60, 1, 2]);
  });

  it('counts a result that the server dates slightly later than now', () => {
    expect(acceptedPerMinute([NOW + 900], NOW)[59]).toBe(1);
  });
});
