import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isoTime } from '../../core/events/envelope.js';
import { eventOf, range, transactionOf } from '../conformance/fixture.js';
import { openMemoryStore } from '../memory/memory-store.js';
import type { EventQuery } from '../store.js';
import { onSharedDatabase } from '../testing/shared-database.js';
import { BLOCK_EVENTS, positionRanges } from './event-blocks.js';
import { readEvents } from './events.js';
import type { MysqlOptions } from './options.js';
import { harnessOf, newProject } from './testing/harness.js';
import { optionsWithLongTimeouts } from './testing.js';

const START_MS = Date.UTC(2026, 0, 1);
const EVENTS = 5 * BLOCK_EVENTS;

it('joins adjacent blocks to one range of positions', () => {
  const [first, second, third] = [0, 1, 3].map((block) => block * BLOCK_EVENTS);
  expect(positionRanges([0, 1, 3])).toEqual([
    [first, (second as number) + BLOCK_EVENTS - 1],
    [third, (third as number) + BLOCK_EVENTS - 1],
  ]);
});

await onSharedDatabase('mysql', ({ url }) => {
  describe('the events of the mysql store', () => describeEvents(optionsWithLongTimeouts(url)));
});

function describeEvents(options: MysqlOptions): void {
  const { open, admin } = harnessOf(options);

  const filters: [Partial<EventQuery>, ...[table: string, index: string][]][] = [
    [{}, ['e', 'PRIMARY']],
    [{ subject: '~x' }, ['e', 'by_subject']],
    [{ task_id: 'T' }, ['e', 'by_subject'], ['n', 'PRIMARY'], ['e', 'PRIMARY']],
    [{ session_id: 's' }, ['e', 'by_session_id']],
    [{ feature_id: 'F' }, ['n', 'PRIMARY'], ['e', 'PRIMARY']],
    [{ edge: 'design_code' }, ['n', 'PRIMARY'], ['e', 'PRIMARY']],
    [{ agent_id: 'a' }, ['e', 'by_agent_id']],
    [{ types: ['A'] }, ['n', 'PRIMARY'], ['e', 'PRIMARY']],
    [{ types: ['A', 'B'] }, ['n', 'PRIMARY'], ['e', 'PRIMARY']],
    [{ since: isoTime(START_MS) }, ['t', 'PRIMARY'], ['e', 'PRIMARY']],
    [{ until: isoTime(START_MS + 1) }, ['t', 'PRIMARY'], ['e', 'PRIMARY']],
    [{ agent_id: 'a', types: ['A'], since: isoTime(START_MS) }, ['t', 'PRIMARY'], ['e', 'by_agent_id']],
  ];
  it.each(filters)('are found with an index: %o', async (filter, ...expected) => {
    const projectKey = newProject();
    const store = await open();
    const fields = { subject: '~x', session_id: 's', feature_id: 'F', edge: 'design_code', agent_id: 'a' };
    const types = range(1, 300).map((n) => (n % 2 === 0 ? 'A' : 'B'));
    const events = types.map((event_type) =>
      eventOf(projectKey, { ...fields, event_type, task_id: 'T', timestamp: isoTime(START_MS) }),
    );
    await store.commit([transactionOf(projectKey, { loose_events: events })]);
    const usedIndexes: [unknown, unknown][] = [];
    const explainPlan = async (statement: string, values: readonly unknown[]) => {
      const plan = await admin(`EXPLAIN FORMAT = TRADITIONAL ${statement}`, values);
      // `p` is the row of the project, which each statement looks up first.
      for (const { table, key, type } of plan.filter(({ table }) => table !== 'p')) {
        expect(['ref', 'range', 'const']).toContain(type);
        usedIndexes.push([table, key]);
      }
      return admin(statement, values);
    };
    const [first] = await readEvents(explainPlan, projectKey, { after: 0, limit: 1, ...filter });
    expect(first?.position).toBe(filter.types?.[0] === 'A' && filter.types.length === 1 ? 2 : 1);
    expect(usedIndexes).toEqual(expected);
  });

  it('are the same as in the memory store for any query', async () => {
    const projectKey = newProject();
    const [mysql, memory] = [await open(), openMemoryStore()];
    const pickedName = (name: string, n: number, of: number) => `${name}${(n * 7919) % of}`;
    const events = range(1, EVENTS).map((n) =>
      eventOf(projectKey, {
        event_type: n % 300 === 0 ? 'rare' : pickedName('type', n, 3),
        subject: pickedName('~s', n, 50),
        agent_id: pickedName('agent', n, 7),
        // Times rise with positions only roughly.
        timestamp: isoTime(START_MS + n * 1000 + ((n * 31) % 9) * 5000),
        ...(n % 3 === 0 ? { session_id: pickedName('session', n, 11) } : {}),
        ...(n % 4 === 0 ? { task_id: pickedName('~s', n, n % 8 === 0 ? 50 : 49) } : {}),
        ...(n % 5 === 0
          ? { feature_id: pickedName('feature', n, 2), edge: n % 2 === 0 ? 'even "x"' : 'odd' }
          : {}),
        payload: { text: '"feature_id":"feature0"' },
      }),
    );
    for (let from = 0; from < EVENTS; from += 301) {
      const transaction = transactionOf(projectKey, { loose_events: events.slice(from, from + 301) });
      for (const store of [mysql, memory]) await store.commit([transaction]);
    }
    const property = fc.asyncProperty(eventQuery, async (query) => {
      expect(await mysql.events(projectKey, query)).toEqual(await memory.events(projectKey, query));
    });
    await fc.assert(property, { numRuns: 150 });
  });
}

const optionally = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined, freq: 3 });
const time = fc.nat(EVENTS * 1000).map((ms) => isoTime(START_MS + ms));
const eventQuery: fc.Arbitrary<EventQuery> = fc
  .record({
    after: fc.nat(EVENTS),
    limit: fc.constantFrom(1, 10, 100, 10_000),
    until_position: optionally(fc.nat(EVENTS)),
    types: optionally(fc.subarray(['type0', 'type1', 'rare', 'none'])),
    subject: optionally(fc.constantFrom('~s1', '~s2', '~none')),
    task_id: optionally(fc.constantFrom('~s1', '~s2', '~s3', '~none')),
    feature_id: optionally(fc.constantFrom('feature0', 'feature1')),
    edge: optionally(fc.constantFrom('even "x"', 'odd')),
    agent_id: optionally(fc.constantFrom('agent0', 'agent1')),
    session_id: optionally(fc.constantFrom('session0', 'session1')),
    since: optionally(time),
    until: optionally(time),
  })
  .map((query) => JSON.parse(JSON.stringify(query)));
