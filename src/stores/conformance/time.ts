import { describe, expect, it } from 'vitest';
import type { Unit } from '../store.js';
import { eventOf, range, type Scene } from './scene.js';

const HOUR_MS = 3_600_000;

export function describeTime(scene: () => Scene): void {
  describe('time', () => {
    it('is told in whole milliseconds and never runs back', async () => {
      let before_ms = await scene().store.now();
      for (const _ of range(1, 20)) {
        const { now_ms } = await scene().commit({});
        expect(Number.isSafeInteger(now_ms)).toBe(true);
        expect(now_ms).toBeGreaterThanOrEqual(before_ms);
        before_ms = await scene().store.now();
        expect(before_ms).toBeGreaterThanOrEqual(now_ms);
      }
    });

    it('refuses as early exactly until it is reached', async () => {
      const bound_ms = (await scene().store.now()) + 10;
      await untilPast(scene(), bound_ms, async (n) => {
        const outcome = await scene().commit({ swaps: [scene().swap(`~s${n}`)], not_before_ms: bound_ms });
        expect(outcome.kind).toBe(outcome.now_ms < bound_ms ? 'early' : 'committed');
        expect((await scene().head(`~s${n}`)) === null).toBe(outcome.kind === 'early');
        return outcome.now_ms;
      });
    });

    it('refuses as late exactly from when it is reached', async () => {
      const bound_ms = (await scene().store.now()) + 10;
      await untilPast(scene(), bound_ms, async (n) => {
        const outcome = await scene().commit({ swaps: [scene().swap(`~s${n}`)], not_after_ms: bound_ms });
        expect(outcome.kind).toBe(outcome.now_ms < bound_ms ? 'committed' : 'late');
        expect((await scene().head(`~s${n}`)) === null).toBe(outcome.kind === 'late');
        return outcome.now_ms;
      });
    });

    describePrecedence(scene);
  });
}

/** Of a store that is given a clock. */
export function describeOwnedTime(scene: () => Scene): void {
  it('keeps the time that its clock shows', async () => {
    const now_ms = await scene().store.now();
    await scene().pass(1234);
    expect(await scene().store.now()).toBe(now_ms + 1234);
    expect((await scene().commit({})).now_ms).toBe(now_ms + 1234);
  });
}

/** Tries again and again while the store's time goes past a bound, a millisecond at a time where it can be owned. */
async function untilPast(
  scene: Scene,
  bound_ms: number,
  attempt: (n: number) => Promise<number>,
): Promise<void> {
  for (let n = 0; (await attempt(n)) <= bound_ms; n += 1) await scene.pass(1);
}

/** Each row mends the fault of the row before; all later faults are still there, so the order itself is proven. */
function describePrecedence(scene: () => Scene): void {
  it('comes where it belongs in the order: replay, conflict, early, late, full, committed', async () => {
    const now_ms = await scene().store.now();
    const taken = { scope: 'work', member: 'm1', until_ms: Number.POSITIVE_INFINITY };
    const known = { key: 'known', digest: 'd', keep: true };
    await scene().committed({ swaps: [scene().swap('~a')], slots: [taken], requests: [known] });
    let faulty: Partial<Unit> = {
      requests: [known],
      swaps: [scene().swap('~a')],
      not_before_ms: now_ms + HOUR_MS,
      not_after_ms: now_ms,
      notes: [eventOf(scene().project, {})],
      slots: [{ ...taken, member: 'm2' }],
      rooms: [{ scope: 'work', max: 1 }],
    };
    const mends: [string, Partial<Unit>][] = [
      ['replay', { requests: [{ ...known, key: 'new' }] }],
      ['conflict', { swaps: [scene().swap('~a', 1)] }],
      ['early', { not_before_ms: now_ms }],
      ['late', { not_after_ms: now_ms + HOUR_MS }],
      ['full', { rooms: [{ scope: 'work', max: 2 }] }],
    ];
    for (const [kind, mend] of mends) {
      expect((await scene().commit(faulty)).kind).toBe(kind);
      faulty = { ...faulty, ...mend };
    }
    expect(await scene().commit(faulty)).toMatchObject({ kind: 'committed', positions: [2, 3] });
  });
}
