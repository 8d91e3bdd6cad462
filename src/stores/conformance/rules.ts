import { describe, expect, it } from 'vitest';
import { kindsOf, range, type Scene, unitOf } from './scene.js';

export function describeRules(scene: () => Scene): void {
  describe('the rules of a project', () => {
    it('stand at 0, and move on by one with each unit that changes them', async () => {
      expect((await scene().committed({ swaps: [scene().swap('~a')] })).rules_seq).toBe(0);
      expect((await scene().committed({ swaps: [scene().swap('~b')], changes_rules: true })).rules_seq).toBe(
        1,
      );
      expect((await scene().committed({ swaps: [scene().swap('~c')], changes_rules: true })).rules_seq).toBe(
        2,
      );
      expect(await scene().store.project(scene().project)).toEqual({ position: 3, rules_seq: 2 });
    });

    it('refuse a unit decided under others, and say where they stand', async () => {
      await scene().committed({ swaps: [scene().swap('~a')], changes_rules: true });
      for (const rules_seq of [0, 2]) {
        const outcome = await scene().commit({ swaps: [scene().swap('~b')], rules_seq });
        expect(outcome).toMatchObject({
          kind: 'conflict',
          rules_seq: 1,
          heads: [{ subject: '~b', head: null }],
        });
      }
      expect((await scene().committed({ swaps: [scene().swap('~b')], rules_seq: 1 })).rules_seq).toBe(1);
    });

    it('do not matter to a unit that names none', async () => {
      await scene().committed({ swaps: [scene().swap('~a')], changes_rules: true });
      await scene().committed({ swaps: [scene().swap('~b')], rules_seq: null });
    });

    it('that move within a commit stop the units after it that were decided before', async () => {
      const { project, store } = scene();
      const outcomes = await store.commit([
        unitOf(project, { swaps: [scene().swap('~a')], rules_seq: 0, changes_rules: true }),
        unitOf(project, { swaps: [scene().swap('~b')], rules_seq: 0 }),
        unitOf(project, { swaps: [scene().swap('~b')], rules_seq: 1 }),
      ]);
      expect(kindsOf(outcomes)).toEqual(['committed', 'conflict', 'committed']);
    });

    it('let one of ten racing changes through', async () => {
      const outcomes = await Promise.all(
        range(1, 10).map((n) =>
          scene().commit({ swaps: [scene().swap(`~s${n}`)], rules_seq: 0, changes_rules: true }),
        ),
      );
      expect(kindsOf(outcomes).filter((kind) => kind === 'committed')).toHaveLength(1);
      expect(await scene().store.project(scene().project)).toEqual({ position: 1, rules_seq: 1 });
    });
  });
}
