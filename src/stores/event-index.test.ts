import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventIndex } from './event-index.js';

const name: fc.Arbitrary<string | undefined> = fc.constantFrom(undefined, 'a', 'b', 'c', '__proto__');
const events = fc.array(fc.record({ subject: name, session_id: name }), { maxLength: 100, size: 'max' });
const page = fc.record({
  after: fc.nat(110),
  until_position: fc.nat(110),
  limit: fc.integer({ min: 1, max: 20 }),
});

function indexOf(
  entries: readonly { subject: string | undefined; session_id: string | undefined }[],
): EventIndex {
  const index = new EventIndex();
  entries.forEach(({ subject, session_id }, i) => {
    index.add(i + 1, subject, session_id);
  });
  return index;
}

describe('the event index', () => {
  it.each(['as built', 'rebuilt from its parts'])(
    'finds the same events as a scan of all events, %s',
    (how) => {
      fc.assert(
        fc.property(events, name, page, (entries, wanted = 'none', { after, until_position, limit }) => {
          const built = indexOf(entries);
          const index =
            how === 'as built' ? built : EventIndex.fromState(structuredClone(built.exportState()));
          const inPage = (position: number) => position > after && position <= until_position;
          const positionsBy = (field: 'subject' | 'session_id') =>
            entries.flatMap((entry, i) => (entry[field] === wanted && inPage(i + 1) ? [i + 1] : []));
          const bounds = { after, until_position, limit };
          expect(index.bySubject(wanted, bounds)).toEqual(positionsBy('subject').slice(0, limit));
          expect(index.bySession(wanted, bounds)).toEqual(positionsBy('session_id').slice(0, limit));
          expect([...index.candidates({ ...bounds, session_id: wanted })]).toEqual(positionsBy('session_id'));
          expect(index.position).toBe(entries.length);
        }),
        { numRuns: 200 },
      );
    },
  );

  it('continues after it was rebuilt', () => {
    const index = EventIndex.fromState(indexOf([{ subject: 'a', session_id: 's' }]).exportState());
    index.add(2, 'b', undefined);
    index.add(3, 'a', 's');
    expect(index.bySubject('a', { after: 0, limit: 9 })).toEqual([1, 3]);
    expect(index.bySession('s', { after: 1, limit: 9 })).toEqual([3]);
  });

  it('yields every candidate of a long chain, over more than one page', () => {
    const index = indexOf(
      Array.from({ length: 2000 }, (_, i) => ({ subject: i % 2 ? 'a' : 'b', session_id: 's' })),
    );
    expect([...index.candidates({ after: 0, limit: 1, subject: 'a' })]).toHaveLength(1000);
    expect([...index.candidates({ after: 1500, limit: 1 })]).toHaveLength(500);
  });

  it('refuses a gap, and inconsistent parts', () => {
    expect(() => indexOf([]).add(2, 'a', undefined)).toThrow('is at 0 and cannot continue with 2');
    const chain = (...owners: number[]) => ({ names: ['a'], owners: Int32Array.from(owners) });
    expect(() => EventIndex.fromState({ subjects: chain(1, 1), sessions: chain(1) })).toThrow(
      'differ in length',
    );
    expect(() => EventIndex.fromState({ subjects: chain(2), sessions: chain(1) })).toThrow(
      'refers to name 2 of 1',
    );
  });
});
