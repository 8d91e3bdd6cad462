import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isoTime } from '../core/events/envelope.js';
import { EventIndex, type IndexedEvent } from './event-index.js';

const name: fc.Arbitrary<string | undefined> = fc.constantFrom(undefined, 'a', 'b', 'c', '__proto__');
const events = fc.array(fc.record({ subject: name, session_id: name }), { maxLength: 100, size: 'max' });
const page = fc.record({
  after: fc.nat(110),
  until_position: fc.nat(110),
  limit: fc.integer({ min: 1, max: 20 }),
});

const eventOf = (subject?: string, session_id?: string, timestamp = isoTime(0)): IndexedEvent => ({
  ...(subject === undefined ? {} : { subject }),
  ...(session_id === undefined ? {} : { session_id }),
  timestamp,
});

function indexOf(
  entries: readonly { subject: string | undefined; session_id: string | undefined }[],
): EventIndex {
  const index = new EventIndex();
  entries.forEach(({ subject, session_id }, i) => {
    index.add(i + 1, eventOf(subject, session_id));
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

  it('accepts further events after it was rebuilt', () => {
    const index = EventIndex.fromState(indexOf([{ subject: 'a', session_id: 's' }]).exportState());
    index.add(2, eventOf('b'));
    index.add(3, eventOf('a', 's'));
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
    expect(() => indexOf([]).add(2, eventOf('a'))).toThrow('is at 0 and cannot continue with 2');
    const chainOf = (...owners: number[]) => ({ names: ['a'], owners: Int32Array.from(owners) });
    const times = Float64Array.of(0, 0);
    const state = { subjects: chainOf(1), sessions: chainOf(1), times };
    expect(() => EventIndex.fromState({ ...state, subjects: chainOf(1, 1) })).toThrow('differ in length');
    expect(() => EventIndex.fromState({ ...state, subjects: chainOf(2) })).toThrow('refers to name 2 of 1');
    expect(() => EventIndex.fromState({ ...state, times: Float64Array.of() })).toThrow(
      '0 spans of time for 1',
    );
  });

  it.each(['as built', 'rebuilt from its parts'])('finds every event in a range of time, %s', (how) => {
    const seconds = fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 1500, size: 'max' });
    fc.assert(
      fc.property(seconds, fc.nat(20), fc.nat(20), fc.nat(1500), (offsets, from, length, after) => {
        const built = new EventIndex();
        // The times rise by a second per event, but each event may be up to twenty seconds late.
        const times = offsets.map((late, at) => 1000 * (at - late));
        times.forEach((ms, at) => {
          built.add(at + 1, eventOf(undefined, undefined, at % 99 === 98 ? 'unreadable' : isoTime(ms)));
        });
        const index = how === 'as built' ? built : EventIndex.fromState(built.exportState());
        const [sinceMs, untilMs] = [from * 50_000, from * 50_000 + length * 1000];
        const query = { after, limit: 1, since: isoTime(sinceMs), until: isoTime(untilMs) };
        const candidates = new Set(index.candidates(query));
        const missing = times.filter(
          (ms, at) =>
            ms >= sinceMs && ms < untilMs && at % 99 !== 98 && at >= after && !candidates.has(at + 1),
        );
        expect(missing).toEqual([]);
        expect(Math.min(...candidates)).toBeGreaterThan(after);
      }),
      { numRuns: 50 },
    );
  });

  it('reads only the spans of events that overlap the range of time, wherever they are', () => {
    const index = new EventIndex();
    const lateAt = 9000;
    for (let at = 1; at <= 10_000; at += 1)
      index.add(at, eventOf(undefined, undefined, isoTime(1000 * (at === lateAt ? 500 : at))));
    const oneSecond = { after: 0, limit: 1, since: isoTime(500_000), until: isoTime(501_000) };
    const candidates = [...index.candidates(oneSecond)];
    expect(candidates).toContain(500);
    expect(candidates).toContain(lateAt);
    expect(candidates).toHaveLength(2 * 256);
    expect([...index.candidates({ ...oneSecond, since: isoTime(1e9), until: isoTime(2e9) })]).toEqual([]);
  });
});
