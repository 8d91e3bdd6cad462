import { isoTime, type NewEvent } from '../../core/events/envelope.js';
import type { EventQuery } from '../store.js';
import { expect } from './expect.js';
import { eventOf, range, type StoreFixture, swapWith } from './fixture.js';
import { describe, it } from './test-list.js';

const START_MS = Date.UTC(2020, 5, 1);

export function describeEvents(fixture: () => StoreFixture): void {
  describe('events', () => {
    describeFilters(fixture);
    describePaging(fixture);
    describeContent(fixture);
  });
}

/** The events at the positions 1 to 6. */
const SAMPLES: Partial<NewEvent>[] = [
  { event_type: 'A', subject: '~x', task_id: 'T-1', session_id: 's1', agent_id: 'ada' },
  {
    event_type: 'B',
    subject: '~y',
    feature_id: 'F-1',
    edge: 'design_code',
    session_id: 's2',
    agent_id: 'bob',
  },
  {
    event_type: 'A',
    subject: '~x',
    feature_id: 'F-1',
    edge: 'code_tests',
    session_id: 's2',
    agent_id: 'ada',
  },
  { event_type: 'C', agent_id: 'bob' },
  { event_type: 'A', subject: '~y', task_id: 'T-1', session_id: 's1', agent_id: 'bob' },
  { event_type: 'B', subject: '~x', task_id: 'T-2', session_id: 's1', agent_id: 'ada' },
];

/** Queries, each with the positions of the samples that match. */
const FILTERS: [Partial<EventQuery>, number[]][] = [
  [{}, [1, 2, 3, 4, 5, 6]],
  [{ types: ['A'] }, [1, 3, 5]],
  [{ types: ['B', 'C', 'none'] }, [2, 4, 6]],
  [{ types: [] }, []],
  [{ subject: '~x' }, [1, 3, 6]],
  [{ subject: '~none' }, []],
  [{ session_id: 's1' }, [1, 5, 6]],
  [{ session_id: 'none' }, []],
  [{ task_id: 'T-1' }, [1, 5]],
  [{ feature_id: 'F-1' }, [2, 3]],
  [{ edge: 'code_tests' }, [3]],
  [{ agent_id: 'bob' }, [2, 4, 5]],
  [{ since: isoTime(START_MS + 3000) }, [3, 4, 5, 6]],
  [{ until: isoTime(START_MS + 3000) }, [1, 2]],
  [{ since: isoTime(START_MS + 2000), until: isoTime(START_MS + 4000) }, [2, 3]],
  [{ until_position: 4 }, [1, 2, 3, 4]],
  [{ after: 4 }, [5, 6]],
  [{ after: 6 }, []],
  [{ after: 600 }, []],
  [{ limit: 2 }, [1, 2]],
  [{ after: 1, limit: 2, until_position: 5 }, [2, 3]],
  [{ subject: '~x', session_id: 's1' }, [1, 6]],
  [{ subject: '~x', after: 1 }, [3, 6]],
  [{ subject: '~x', after: 2, until_position: 5 }, [3]],
  [{ subject: '~x', limit: 1, types: ['B'] }, [6]],
  [{ session_id: 's1', after: 2, limit: 1 }, [5]],
  [{ session_id: 's2', agent_id: 'ada', types: ['A'] }, [3]],
  [{ agent_id: 'ada', after: 1, limit: 1 }, [3]],
];

function describeFilters(fixture: () => StoreFixture): void {
  // req: EVT-007, EVT-008
  it('are found by every filter, alone and combined', async () => {
    const looseEvents = SAMPLES.map((fields, index) =>
      eventOf(fixture().projectKey, { timestamp: isoTime(START_MS + 1000 * (index + 1)), ...fields }),
    );
    await fixture().expectCommitted({ loose_events: looseEvents });
    for (const [query, expected] of FILTERS) {
      const matching = await fixture().store.events(fixture().projectKey, { after: 0, limit: 100, ...query });
      expect({ query, matching: matching.map((event) => event.position) }).toEqual({
        query,
        matching: expected,
      });
    }
  });
}

function describePaging(fixture: () => StoreFixture): void {
  it.each<[string, Partial<EventQuery>]>([
    ['all events', {}],
    ['events of a subject', { subject: '~even' }],
    ['events of a session', { session_id: 'even' }],
    ['events of a type', { types: ['even'] }],
  ])('are paged without loss or repetition: %s', async (_, query) => {
    const looseEvents = range(1, 60).map((n) => {
      const name = n % 2 === 0 ? 'even' : 'odd';
      return eventOf(fixture().projectKey, { event_type: name, subject: `~${name}`, session_id: name });
    });
    await fixture().expectCommitted({ loose_events: looseEvents });
    const expected = range(1, 60).filter((n) => Object.keys(query).length === 0 || n % 2 === 0);
    const positions: number[] = [];
    for (let after = 0; ; after = positions.at(-1) as number) {
      const page = await fixture().store.events(fixture().projectKey, { ...query, after, limit: 7 });
      if (page.length === 0) break;
      expect(page.length).toBeLessThanOrEqual(7);
      positions.push(...page.map((event) => event.position));
    }
    expect(positions).toEqual(expected);
  });
}

const PAYLOADS: [string, Record<string, unknown>][] = [
  ['64 KiB of text', { text: 'x'.repeat(64 * 1024) }],
  [
    'text of every script',
    { text: 'Grüße, 世界, שלום, 👩‍👩‍👧, e\u0301, \u2028 \ufeff', 'ключ ☃': 'значение' },
  ],
  ['quotes, backslashes and line ends', { text: '"\\"\n\r\t\u0001 \\u0041 ,"payload":{"a":1}}\n{"hash":"' }],
  ['names that have a meaning in a log line', { payload: { log: { prev: 'x' } }, hash: 'y', position: 0 }],
  [
    'numbers of every size',
    { n: [0, -1, 0.1, 1e21, 5e-324, Number.MAX_SAFE_INTEGER, 1.7976931348623157e308] },
  ],
  ['nested values', { list: [[], {}, null, true, false, [[['deep']]]], empty: '' }],
  ['the name __proto__', JSON.parse('{"__proto__":{"polluted":true},"constructor":"c"}')],
];

function describeContent(fixture: () => StoreFixture): void {
  it.each(PAYLOADS)('are returned unchanged, as are heads: %s', async (_, record) => {
    const event = eventOf(fixture().projectKey, { subject: '~a', seq: 1, payload: { record } });
    const swap = swapWith('~a', 0, [event]);
    await fixture().expectCommitted({ swaps: [swap] });
    const [storedEvent] = await fixture().store.events(fixture().projectKey, { after: 0, limit: 1 });
    // Comparing as text also covers what toEqual ignores: an own member called __proto__.
    expect(JSON.stringify(withSortedMembers(storedEvent))).toBe(
      JSON.stringify(withSortedMembers({ ...event, position: 1 })),
    );
    expect(JSON.stringify(withSortedMembers(await fixture().head('~a')))).toBe(
      JSON.stringify(withSortedMembers(swap.head)),
    );
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  // req: EVT-003, EVT-010
  it('are returned with exactly the envelope fields that they had', async () => {
    const full = eventOf(fixture().projectKey, {
      subject: '~a',
      seq: 1,
      task_id: 'T-1',
      feature_id: 'F-1',
      edge: 'design_code',
      agent_role: 'architect',
      session_id: 's1',
      generation: 3,
      request_id: 'r1',
      payload: { record: { a: 1 } },
    });
    const bare = eventOf(fixture().projectKey, {});
    await fixture().expectCommitted({ swaps: [swapWith('~a', 0, [full])], loose_events: [bare] });
    const events = await fixture().store.events(fixture().projectKey, { after: 0, limit: 10 });
    expect(events[0]).toStrictEqual({ ...full, position: 1 });
    expect(events[1]).toStrictEqual({ ...bare, position: 2 });
  });
}

/** The order of members does not matter: a store may normalize JSON. */
function withSortedMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedMembers);
  if (value === null || typeof value !== 'object') return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, withSortedMembers(member)]);
}
