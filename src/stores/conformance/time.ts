import type { Transaction } from '../store.js';
import { expect } from './expect.js';
import { eventOf, range, type StoreFixture } from './fixture.js';
import { describe, it } from './test-list.js';

const HOUR_MS = 3_600_000;

export function describeTime(fixture: () => StoreFixture): void {
  describe('time', () => {
    it('is in whole milliseconds and never decreases', async () => {
      let beforeMs = await fixture().store.now();
      for (const _ of range(1, 20)) {
        const { now_ms } = await fixture().commit({});
        expect(Number.isSafeInteger(now_ms)).toBe(true);
        expect(now_ms).toBeGreaterThanOrEqual(beforeMs);
        beforeMs = await fixture().store.now();
        expect(beforeMs).toBeGreaterThanOrEqual(now_ms);
      }
    });

    it('refuses a transaction as early until not_before_ms is reached', async () => {
      const boundMs = (await fixture().store.now()) + 10;
      await attemptUntilPast(fixture(), boundMs, async (n) => {
        const outcome = await fixture().commit({ swaps: [fixture().swap(`~s${n}`)], not_before_ms: boundMs });
        expect(outcome.kind).toBe(outcome.now_ms < boundMs ? 'early' : 'committed');
        expect((await fixture().head(`~s${n}`)) === null).toBe(outcome.kind === 'early');
        return outcome.now_ms;
      });
    });

    // req: LSE-008
    it('refuses a transaction as late from not_after_ms on', async () => {
      const boundMs = (await fixture().store.now()) + 10;
      await attemptUntilPast(fixture(), boundMs, async (n) => {
        const outcome = await fixture().commit({ swaps: [fixture().swap(`~s${n}`)], not_after_ms: boundMs });
        expect(outcome.kind).toBe(outcome.now_ms < boundMs ? 'committed' : 'late');
        expect((await fixture().head(`~s${n}`)) === null).toBe(outcome.kind === 'late');
        return outcome.now_ms;
      });
    });

    describePrecedence(fixture);
  });
}

/** The test for a store that is opened with a clock that the suite can advance. */
export function describeControlledClock(fixture: () => StoreFixture): void {
  // req: AUD-006
  it('uses the time of its clock', async () => {
    const nowMs = await fixture().store.now();
    await fixture().advanceClock(1234);
    expect(await fixture().store.now()).toBe(nowMs + 1234);
    expect((await fixture().commit({})).now_ms).toBe(nowMs + 1234);
  });
}

/** Repeats an attempt until the store's time passes a bound, in steps of a millisecond if the clock is controlled. */
async function attemptUntilPast(
  fixture: StoreFixture,
  boundMs: number,
  attempt: (n: number) => Promise<number>,
): Promise<void> {
  for (let n = 0; (await attempt(n)) <= boundMs; n += 1) await fixture.advanceClock(1);
}

/** Commits a transaction that has every fault, then fixes one fault per row. Each row names the outcome before its fix. */
function describePrecedence(fixture: () => StoreFixture): void {
  it('is checked in the order replay, conflict, early, late, full, committed', async () => {
    const nowMs = await fixture().store.now();
    const permit = { scope: 'work', member: 'm1', until_ms: Number.POSITIVE_INFINITY };
    const remembered = { key: 'known', digest: 'd', keep: true };
    await fixture().expectCommitted({
      swaps: [fixture().swap('~a')],
      permits: [permit],
      requests: [remembered],
    });
    let faulty: Partial<Transaction> = {
      requests: [remembered],
      swaps: [fixture().swap('~a')],
      not_before_ms: nowMs + HOUR_MS,
      not_after_ms: nowMs,
      loose_events: [eventOf(fixture().projectKey, {})],
      permits: [{ ...permit, member: 'm2' }],
      permit_limits: [{ scope: 'work', max: 1 }],
    };
    const fixes: [string, Partial<Transaction>][] = [
      ['replay', { requests: [{ ...remembered, key: 'new' }] }],
      ['conflict', { swaps: [fixture().swap('~a', 1)] }],
      ['early', { not_before_ms: nowMs }],
      ['late', { not_after_ms: nowMs + HOUR_MS }],
      ['full', { permit_limits: [{ scope: 'work', max: 2 }] }],
    ];
    for (const [kind, fix] of fixes) {
      expect((await fixture().commit(faulty)).kind).toBe(kind);
      faulty = { ...faulty, ...fix };
    }
    expect(await fixture().commit(faulty)).toMatchObject({ kind: 'committed', positions: [2, 3] });
  });
}
