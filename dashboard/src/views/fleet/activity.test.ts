import { describe, expect, it } from 'vitest';
import type { EventEnvelope } from '../../../../src/core/contract/events.js';
import { acceptedPerMinute, addEvents, NO_ACTIVITY } from './activity.js';

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
const words = (...events: EventEnvelope[]): string[] =>
  addEvents(NO_ACTIVITY, events, NOW).notable.map(
    ({ label, before, subject, after }) => `${label}: ${before}${subject}${after}`,
  );

describe('notable events', () => {
  it('name who took work over from whom', () => {
    const lost = event('CLAIM_LOST', 'bob', 2, { cause: 'EXPIRED', disposition: 'eligible' });
    expect(words(granted('bob', 2), lost, granted('ada', 3, 'EXPIRED'))).toEqual([
      `takeover: ada took over ${TASK} from bob (generation 3)`,
      `lapsed: the lease of bob on ${TASK} has ended`,
    ]);
  });

  it('name no previous holder that no event has named, and no takeover from oneself', () => {
    expect(words(granted('ada', 3, 'EXPIRED'))).toEqual([`takeover: ada took over ${TASK} (generation 3)`]);
    expect(words(granted('ada', 2), granted('ada', 3, 'EXPIRED'))).toEqual([
      `claimed again: ada claimed ${TASK} again (generation 3)`,
    ]);
  });

  it('say which rule refused a result, and whether it is kept', () => {
    const payload = { rejection_reason: 'STALE_GENERATION', submitted_generation: 2, current_generation: 3 };
    expect(words(event('RESULT_REJECTED', 'bob', 2, { ...payload, parked: true }))).toEqual([
      `parked: STALE_GENERATION: result of bob for ${TASK} (generation 2, now 3) is kept`,
    ]);
    expect(words(event('result_rejected', 'bob', 2, { ...payload, parked: false }))).toEqual([
      `refused: STALE_GENERATION: result of bob for ${TASK} (generation 2, now 3)`,
    ]);
  });

  it('cut a long reason', () => {
    const [held = ''] = words(event('TASK_HELD', 'eve', 0, { by: 'eve', reason: 'x'.repeat(8000) }));
    expect(held).toMatch(/^held: eve holds back A-012-parser: x+…$/);
    expect(held.length).toBeLessThan(250);
  });

  it('leave out what is ordinary, and types that are not known', () => {
    expect(words(granted('ada', 1), event('LEASE_RENEWED', 'ada', 1), event('other', 'ada', 1))).toEqual([]);
  });

  it('are newest first, and bounded', () => {
    const denied = Array.from({ length: 300 }, () => event('CLAIM_REJECTED', 'bob', 1, { reason: 'X' }));
    const { notable } = addEvents(NO_ACTIVITY, denied, NOW);
    expect(notable).toHaveLength(200);
    expect(notable[0]?.position).toBe(denied.at(-1)?.position);
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
    const { accepted } = addEvents(NO_ACTIVITY, results, NOW);
    expect(accepted).toHaveLength(3);
    const counts = acceptedPerMinute(accepted, NOW);
    expect([counts.length, counts[0], counts[59]]).toEqual([60, 1, 2]);
  });

  it('counts a result that the server dates slightly later than now', () => {
    expect(acceptedPerMinute([NOW + 900], NOW)[59]).toBe(1);
  });
});
