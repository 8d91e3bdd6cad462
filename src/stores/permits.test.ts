import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TenantPermits } from './permits.js';
import type { Permit } from './store.js';

const NAMES = ['a', 'b', '__proto__'];

/** Reference implementation: one list of all permits ever taken, searched linearly. */
class NaivePermits {
  private permits: (Permit & { project_id: string })[] = [];

  set(project_id: string, permit: Permit): void {
    this.drop(project_id, ({ scope, member }) => scope === permit.scope && member === permit.member);
    this.permits.push({ ...permit, project_id });
  }

  drop(projectId: string, which: (permit: Permit) => boolean = () => true): void {
    this.permits = this.permits.filter((permit) => permit.project_id !== projectId || !which(permit));
  }

  live(nowMs: number, which: Partial<Permit & { project_id: string }>): Permit[] {
    const filters = Object.entries(which) as [keyof Permit, string][];
    return this.permits.filter(
      (permit) =>
        (permit.until_ms ?? 0) > nowMs && filters.every(([field, value]) => permit[field] === value),
    );
  }
}

const permit = fc.record({
  scope: fc.constantFrom(...NAMES),
  member: fc.constantFrom(...NAMES, 'c', 'd', 'e'),
  until_ms: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.constantFrom(null, Number.POSITIVE_INFINITY)),
});
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ project_id: fc.constantFrom(...NAMES), permit }) },
  { weight: 3, arbitrary: fc.record({ pass_ms: fc.integer({ min: 0, max: 30 }) }) },
  { weight: 1, arbitrary: fc.record({ drop: fc.constantFrom(...NAMES) }) },
);

describe('the permits of a tenant', () => {
  it('match a plain list after any sequence of taking, releasing, dropping and expiry', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
        const permits = new TenantPermits();
        const naive = new NaivePermits();
        let nowMs = 0;
        permits.advanceTo(nowMs);
        for (const one of steps) {
          if ('pass_ms' in one) nowMs += one.pass_ms;
          else if ('drop' in one) for (const each of [permits, naive]) each.drop(one.drop);
          else for (const each of [permits, naive]) each.set(one.project_id, one.permit);
          expectSame(permits, naive, nowMs);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('are full exactly when a new member would exceed the limit', () => {
    const permitLimits = fc.array(fc.record({ scope: fc.constantFrom(...NAMES), max: fc.nat(4) }), {
      maxLength: 3,
    });
    const earlierPermits = fc.array(permit, { maxLength: 12, size: 'max' });
    fc.assert(
      fc.property(
        earlierPermits,
        fc.array(permit, { maxLength: 6 }),
        permitLimits,
        (before, wanted, limits) => {
          const nowMs = 100;
          const [permits, naiveBefore] = [new TenantPermits(), new NaivePermits()];
          permits.advanceTo(nowMs);
          for (const each of [permits, naiveBefore]) for (const one of before) each.set('p', one);
          const after = new NaivePermits();
          for (const one of [...before, ...wanted]) after.set('p', one);
          const full = limits.find(({ scope, max }) => {
            const live = after.live(nowMs, { scope });
            const isNew = ({ member }: Permit) => naiveBefore.live(nowMs, { scope, member }).length === 0;
            return live.length > max && live.some(isNew);
          });
          expect(permits.findFullScope('p', wanted, limits, nowMs)).toBe(full?.scope ?? null);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('do not include expired permits', () => {
    const permits = new TenantPermits();
    for (let n = 0; n < 1000; n += 1) permits.set('p', { scope: `s${n}`, member: 'm', until_ms: 10 });
    expect(permits.count('s1', 10)).toBe(0);
    expect([...permits.entries('p')]).toEqual([]);
  });

  it('answer a query about an earlier time as of the latest time', () => {
    const permits = new TenantPermits();
    permits.set('p', { scope: 's', member: 'm', until_ms: 10 });
    permits.advanceTo(9);
    expect([...permits.entries('p')]).toEqual([{ scope: 's', member: 'm', until_ms: 10 }]);
    expect([...permits.entries('q')]).toEqual([]);
    expect(permits.count('s', 10)).toBe(0);
    expect(permits.count('s', 9)).toBe(0);
    permits.set('p', { scope: 's', member: 'm', until_ms: 10 });
    permits.advanceTo(9);
    expect([...permits.entries('p')]).toEqual([]);
  });
});

/** Compares one text per step, because there are thousands of steps. */
function expectSame(permits: TenantPermits, naive: NaivePermits, nowMs: number): void {
  const counts = NAMES.map((scope) => permits.count(scope, nowMs));
  const expectedCounts = NAMES.map((scope) => naive.live(nowMs, { scope }).length);
  const textOf = ({ scope, member, until_ms }: Permit) => `${scope}/${member}/${until_ms}`;
  const entries = NAMES.map((projectId) => [...permits.entries(projectId)].map(textOf).sort());
  const live = NAMES.map((project_id) => naive.live(nowMs, { project_id }));
  expect(`${counts} ${entries.join(' ')}`).toBe(
    `${expectedCounts} ${live.map((each) => each.map(textOf).sort()).join(' ')}`,
  );
}
