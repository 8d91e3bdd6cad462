import { expect } from './expect.js';
import { kindsOf, range, type StoreFixture, transactionOf } from './fixture.js';
import { describe, it } from './test-list.js';

export function describeRules(fixture: () => StoreFixture): void {
  describe('the rules of a project', () => {
    it('start at rules_seq 0, which each transaction that changes them increments', async () => {
      expect((await fixture().expectCommitted({ swaps: [fixture().swap('~a')] })).rules_seq).toBe(0);
      expect(
        (await fixture().expectCommitted({ swaps: [fixture().swap('~b')], changes_rules: true })).rules_seq,
      ).toBe(1);
      expect(
        (await fixture().expectCommitted({ swaps: [fixture().swap('~c')], changes_rules: true })).rules_seq,
      ).toBe(2);
      expect(await fixture().store.project(fixture().projectKey)).toEqual({ position: 3, rules_seq: 2 });
    });

    it('refuse a transaction decided under another rules_seq, and return the current one', async () => {
      await fixture().expectCommitted({ swaps: [fixture().swap('~a')], changes_rules: true });
      for (const rules_seq of [0, 2]) {
        const outcome = await fixture().commit({ swaps: [fixture().swap('~b')], rules_seq });
        expect(outcome).toMatchObject({
          kind: 'conflict',
          rules_seq: 1,
          heads: [{ subject: '~b', head: null }],
        });
      }
      expect(
        (await fixture().expectCommitted({ swaps: [fixture().swap('~b')], rules_seq: 1 })).rules_seq,
      ).toBe(1);
    });

    it('do not affect a transaction without rules_seq', async () => {
      await fixture().expectCommitted({ swaps: [fixture().swap('~a')], changes_rules: true });
      await fixture().expectCommitted({ swaps: [fixture().swap('~b')], rules_seq: null });
    });

    it('that change within a commit refuse later transactions decided under the old rules_seq', async () => {
      const { projectKey, store } = fixture();
      const outcomes = await store.commit([
        transactionOf(projectKey, { swaps: [fixture().swap('~a')], rules_seq: 0, changes_rules: true }),
        transactionOf(projectKey, { swaps: [fixture().swap('~b')], rules_seq: 0 }),
        transactionOf(projectKey, { swaps: [fixture().swap('~b')], rules_seq: 1 }),
      ]);
      expect(kindsOf(outcomes)).toEqual(['committed', 'conflict', 'committed']);
    });

    it('accept one of ten concurrent changes', async () => {
      const outcomes = await Promise.all(
        range(1, 10).map((n) =>
          fixture().commit({ swaps: [fixture().swap(`~s${n}`)], rules_seq: 0, changes_rules: true }),
        ),
      );
      expect(kindsOf(outcomes).filter((kind) => kind === 'committed')).toHaveLength(1);
      expect(await fixture().store.project(fixture().projectKey)).toEqual({ position: 1, rules_seq: 1 });
    });
  });
}
