import { describe, expect, it } from 'vitest';
import { eventOf } from './conformance/fixture.js';
import { eventMatcher } from './event-matcher.js';

const event = {
  ...eventOf({ tenant_id: 't', project_id: 'p' }, { timestamp: '2026-03-01T12:00:00.000Z' }),
  position: 5,
};
const matchesQuery = (query: object) => eventMatcher({ after: 0, limit: 1, ...query })(event);

describe('matching an event', () => {
  it('compares times in any format', () => {
    expect(matchesQuery({ since: '2026-03-01T12:00:00Z' })).toBe(true);
    expect(matchesQuery({ since: '2026-03-01T13:00:00+01:00' })).toBe(true);
    expect(matchesQuery({ since: '2026-03-01T13:00:00.001+01:00' })).toBe(false);
    expect(matchesQuery({ since: '2026-03-01', until: '2026-03-02' })).toBe(true);
    expect(matchesQuery({ until: '2026-03-01T12:00:00Z' })).toBe(false);
  });

  it('respects the bounds of positions', () => {
    expect(matchesQuery({ after: 4, until_position: 5 })).toBe(true);
    expect(matchesQuery({ after: 5 })).toBe(false);
    expect(matchesQuery({ until_position: 4 })).toBe(false);
  });

  it('does not match an event that lacks the field of a filter', () => {
    expect(matchesQuery({ task_id: 'undefined' })).toBe(false);
  });
});
