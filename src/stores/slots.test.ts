import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TenantSlots } from './slots.js';
import type { Slot } from './store.js';

const NAMES = ['a', 'b', '__proto__'];

/** Every place ever taken in one list, looked through from end to end. */
class NaiveSlots {
  private places: (Slot & { project_id: string })[] = [];

  set(project_id: string, slot: Slot): void {
    this.drop(project_id, (place) => place.scope === slot.scope && place.member === slot.member);
    this.places.push({ ...slot, project_id });
  }

  drop(project_id: string, which: (slot: Slot) => boolean = () => true): void {
    this.places = this.places.filter((place) => place.project_id !== project_id || !which(place));
  }

  live(now_ms: number, which: Partial<Slot & { project_id: string }>): Slot[] {
    const wanted = Object.entries(which) as [keyof Slot, string][];
    return this.places.filter(
      (place) => (place.until_ms ?? 0) > now_ms && wanted.every(([field, value]) => place[field] === value),
    );
  }
}

const slot = fc.record({
  scope: fc.constantFrom(...NAMES),
  member: fc.constantFrom(...NAMES, 'c', 'd', 'e'),
  until_ms: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.constantFrom(null, Number.POSITIVE_INFINITY)),
});
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ project_id: fc.constantFrom(...NAMES), slot }) },
  { weight: 3, arbitrary: fc.record({ pass_ms: fc.integer({ min: 0, max: 30 }) }) },
  { weight: 1, arbitrary: fc.record({ drop: fc.constantFrom(...NAMES) }) },
);

describe('the slots of a tenant', () => {
  it('are what a plain list of places says, whatever is taken, freed, dropped or runs out', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
        const slots = new TenantSlots();
        const naive = new NaiveSlots();
        let now_ms = 0;
        slots.advanceTo(now_ms);
        for (const one of steps) {
          if ('pass_ms' in one) now_ms += one.pass_ms;
          else if ('drop' in one) for (const each of [slots, naive]) each.drop(one.drop);
          else for (const each of [slots, naive]) each.set(one.project_id, one.slot);
          expectSame(slots, naive, now_ms);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('say full exactly when a new member would be one too many', () => {
    const rooms = fc.array(fc.record({ scope: fc.constantFrom(...NAMES), max: fc.nat(4) }), { maxLength: 3 });
    const past = fc.array(slot, { maxLength: 12, size: 'max' });
    fc.assert(
      fc.property(past, fc.array(slot, { maxLength: 6 }), rooms, (before, wanted, limits) => {
        const now_ms = 100;
        const [slots, then] = [new TenantSlots(), new NaiveSlots()];
        slots.advanceTo(now_ms);
        for (const each of [slots, then]) for (const one of before) each.set('p', one);
        const after = new NaiveSlots();
        for (const one of [...before, ...wanted]) after.set('p', one);
        const full = limits.find(({ scope, max }) => {
          const live = after.live(now_ms, { scope });
          const isNew = ({ member }: Slot) => then.live(now_ms, { scope, member }).length === 0;
          return live.length > max && live.some(isNew);
        });
        expect(slots.fullScope('p', wanted, limits, now_ms)).toBe(full?.scope ?? null);
      }),
      { numRuns: 500 },
    );
  });

  it('keep nothing of what has run out', () => {
    const slots = new TenantSlots();
    for (let n = 0; n < 1000; n += 1) slots.set('p', { scope: `s${n}`, member: 'm', until_ms: 10 });
    expect(slots.count('s1', 10)).toBe(0);
    expect([...slots.entries('p')]).toEqual([]);
  });

  it('answer a question about an earlier time as of the later one', () => {
    const slots = new TenantSlots();
    slots.set('p', { scope: 's', member: 'm', until_ms: 10 });
    expect(slots.isLive('p', 's', 'm', 9)).toBe(true);
    expect(slots.isLive('q', 's', 'm', 9)).toBe(false);
    expect(slots.count('s', 10)).toBe(0);
    expect(slots.count('s', 9)).toBe(0);
    slots.set('p', { scope: 's', member: 'm', until_ms: 10 });
    expect(slots.isLive('p', 's', 'm', 9)).toBe(false);
  });
});

/** One comparison of text a step: thousands of steps are run. */
function expectSame(slots: TenantSlots, naive: NaiveSlots, now_ms: number): void {
  const counts = NAMES.map((scope) => slots.count(scope, now_ms));
  const expectedCounts = NAMES.map((scope) => naive.live(now_ms, { scope }).length);
  const textOf = ({ scope, member, until_ms }: Slot) => `${scope}/${member}/${until_ms}`;
  const places = NAMES.map((project_id) => [...slots.entries(project_id)].map(textOf).sort());
  const live = NAMES.map((project_id) => naive.live(now_ms, { project_id }));
  expect(`${counts} ${places.join(' ')}`).toBe(
    `${expectedCounts} ${live.map((each) => each.map(textOf).sort()).join(' ')}`,
  );
}
