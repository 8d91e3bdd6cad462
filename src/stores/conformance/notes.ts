import { describe, expect, it } from 'vitest';
import { eventOf, range, type Scene, unitOf } from './scene.js';

export function describeNotes(scene: () => Scene): void {
  const note = (event_id: string, subject = '~a') => eventOf(scene().project, { event_id, subject });

  describe('notes', () => {
    it('take a position and move no head', async () => {
      expect((await scene().committed({ notes: [note('n1')] })).positions).toEqual([1]);
      expect(await scene().head('~a')).toBeNull();
      const [event] = await scene().store.events(scene().project, { after: 0, limit: 10 });
      expect(event).toEqual({ ...note('n1'), position: 1 });
    });

    it('are put once: the same id again is left out, and that is no conflict', async () => {
      await scene().committed({ notes: [note('n1')] });
      const outcome = await scene().committed({ notes: [note('n1', '~other'), note('n2')] });
      expect(outcome.positions).toEqual([null, 2]);
      const events = await scene().store.events(scene().project, { after: 0, limit: 10 });
      expect(events.map((event) => event.event_id)).toEqual(['n1', 'n2']);
      expect(events[0]?.subject).toBe('~a');
    });

    it('are put once where one unit, or one commit, brings them twice', async () => {
      const { project, store } = scene();
      const outcomes = await store.commit([
        unitOf(project, { notes: [note('n1'), note('n1')] }),
        unitOf(project, { notes: [note('n1')] }),
      ]);
      expect(outcomes).toMatchObject([{ positions: [1, null] }, { positions: [null] }]);
    });

    it('come after the events of the swaps', async () => {
      const outcome = await scene().committed({ swaps: [scene().swap('~a', 0, 2)], notes: [note('n1')] });
      expect(outcome.positions).toEqual([1, 2, 3]);
      const events = await scene().store.events(scene().project, { after: 2, limit: 10 });
      expect(events.map((event) => event.event_id)).toEqual(['n1']);
    });

    it('of a refused unit are not put, and may come again', async () => {
      const checks = [{ subject: '~none', expected_seq: 1 }];
      expect((await scene().commit({ notes: [note('n1')], checks })).kind).toBe('conflict');
      expect((await scene().committed({ notes: [note('n1')] })).positions).toEqual([1]);
    });

    it('that race twenty times are put once', async () => {
      const outcomes = await Promise.all(range(1, 20).map(() => scene().committed({ notes: [note('n1')] })));
      expect(outcomes.flatMap((outcome) => outcome.positions).filter((p) => p !== null)).toEqual([1]);
    });
  });
}
