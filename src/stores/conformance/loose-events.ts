import { expect } from './expect.js';
import { eventOf, range, type StoreFixture, transactionOf } from './fixture.js';
import { describe, it } from './test-list.js';

export function describeLooseEvents(fixture: () => StoreFixture): void {
  const looseEvent = (event_id: string, subject = '~a') =>
    eventOf(fixture().projectKey, { event_id, subject });

  describe('loose events', () => {
    it('get a position and change no head', async () => {
      expect((await fixture().expectCommitted({ loose_events: [looseEvent('n1')] })).positions).toEqual([1]);
      expect(await fixture().head('~a')).toBeNull();
      const [event] = await fixture().store.events(fixture().projectKey, { after: 0, limit: 10 });
      expect(event).toEqual({ ...looseEvent('n1'), position: 1 });
    });

    // req: EVT-011
    it('are stored once: a repeated id is skipped without a conflict', async () => {
      await fixture().expectCommitted({ loose_events: [looseEvent('n1')] });
      const outcome = await fixture().expectCommitted({
        loose_events: [looseEvent('n1', '~other'), looseEvent('n2')],
      });
      expect(outcome.positions).toEqual([null, 2]);
      const events = await fixture().store.events(fixture().projectKey, { after: 0, limit: 10 });
      expect(events.map((event) => event.event_id)).toEqual(['n1', 'n2']);
      expect(events[0]?.subject).toBe('~a');
    });

    it('are stored once if a transaction or a commit contains them twice', async () => {
      const { projectKey, store } = fixture();
      const outcomes = await store.commit([
        transactionOf(projectKey, { loose_events: [looseEvent('n1'), looseEvent('n1')] }),
        transactionOf(projectKey, { loose_events: [looseEvent('n1')] }),
      ]);
      expect(outcomes).toMatchObject([{ positions: [1, null] }, { positions: [null] }]);
    });

    it('follow the events of the swaps', async () => {
      const outcome = await fixture().expectCommitted({
        swaps: [fixture().swap('~a', 0, 2)],
        loose_events: [looseEvent('n1')],
      });
      expect(outcome.positions).toEqual([1, 2, 3]);
      const events = await fixture().store.events(fixture().projectKey, { after: 2, limit: 10 });
      expect(events.map((event) => event.event_id)).toEqual(['n1']);
    });

    it('of a refused transaction are not stored, and can be committed later', async () => {
      const checks = [{ subject: '~none', expected_seq: 1 }];
      expect((await fixture().commit({ loose_events: [looseEvent('n1')], checks })).kind).toBe('conflict');
      expect((await fixture().expectCommitted({ loose_events: [looseEvent('n1')] })).positions).toEqual([1]);
    });

    it('committed twenty times concurrently are stored once', async () => {
      const outcomes = await Promise.all(
        range(1, 20).map(() => fixture().expectCommitted({ loose_events: [looseEvent('n1')] })),
      );
      expect(outcomes.flatMap((outcome) => outcome.positions).filter((p) => p !== null)).toEqual([1]);
    });
  });
}
