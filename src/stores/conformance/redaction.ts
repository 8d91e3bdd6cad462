import { createHash } from 'node:crypto';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { expect } from './expect.js';
import { eventOf, range, type StoreFixture } from './fixture.js';
import { describe, it } from './test-list.js';

const LARGE = 'x'.repeat(150_000);

const shortenedDigestOf = ({ position, payload }: EventEnvelope) => ({
  position,
  payload_sha256: createHash('sha256').update(JSON.stringify(payload)).digest('hex'),
});

export function describeRedaction(fixture: () => StoreFixture): void {
  const allEvents = () => fixture().store.events(fixture().projectKey, { after: 0, limit: 1000 });
  const eventWith = (position: number, payload: Record<string, unknown>) =>
    eventOf(fixture().projectKey, { event_id: `e${position}`, session_id: `s${position % 2}`, payload });

  /** Six events in two commits; the payloads of the second and the fifth have fields to remove. */
  async function fillProject(): Promise<void> {
    const reply = { kept: 'ä', said: LARGE, also: 1 };
    await fixture().expectCommitted({
      loose_events: [eventWith(1, { n: 1 }), eventWith(2, reply), eventWith(3, { n: 3 })],
    });
    await fixture().expectCommitted({
      loose_events: [eventWith(4, { n: 4 }), eventWith(5, { said: 'x' }), eventWith(6, { n: 6 })],
    });
  }

  /** Redacts as retention does: first commits an event with the digests of the shortened payloads, then redacts. */
  async function redactTwo(): Promise<void> {
    const { store, projectKey } = fixture();
    const [, second, , , fifth] = await allEvents();
    if (second === undefined || fifth === undefined) throw new Error('The events are missing.');
    const shortened = [
      { ...second, payload: { kept: 'ä', also: 1 } },
      { ...fifth, payload: {} },
    ];
    const event_type = 'HISTORY_FORGOTTEN';
    const payload = { events: shortened.map(shortenedDigestOf) };
    const redaction = { event_id: 'redaction', event_type, subject: '~history', payload };
    await fixture().expectCommitted({ loose_events: [eventOf(projectKey, redaction)] });
    await store.redact(projectKey, shortened);
  }

  describe('redaction', () => {
    it('removes fields from the payload, and keeps everything else', async () => {
      await fillProject();
      const before = await allEvents();
      await redactTwo();
      const after = await allEvents();
      expect(after[1]?.payload).toEqual({ kept: 'ä', also: 1 });
      expect(after[4]?.payload).toEqual({});
      const envelopes = (events: typeof after) =>
        events.slice(0, 6).map(({ payload: _, ...envelope }) => envelope);
      expect(envelopes(after)).toEqual(envelopes(before));
      const otherEvents = (events: typeof after) =>
        events.slice(0, 6).flatMap(({ payload }, index) => (index === 1 || index === 4 ? [] : [payload]));
      expect(otherEvents(after)).toEqual(otherEvents(before));
      const ofSession = await fixture().store.events(fixture().projectKey, {
        after: 0,
        limit: 9,
        session_id: 's1',
      });
      expect(ofSession.map(({ position }) => position)).toEqual([1, 3, 5]);
    });

    it('persists, can be repeated, and allows later commits', async () => {
      await fillProject();
      await redactTwo();
      const redactedEvents = await allEvents();
      await fixture().reopen();
      await redactTwo();
      expect(await allEvents()).toEqual(redactedEvents);
      expect((await fixture().expectCommitted({ loose_events: [eventWith(8, { n: 8 })] })).positions).toEqual(
        [8],
      );
      await fixture().reopen();
      expect((await allEvents()).slice(0, 7)).toEqual(redactedEvents);
    });

    it('does not disturb concurrent commits', async () => {
      await fillProject();
      const commits = range(7, 39).map((position) =>
        fixture().expectCommitted({ loose_events: [eventWith(position, {})] }),
      );
      await Promise.all([redactTwo(), ...commits]);
      expect((await allEvents()).map(({ position }) => position)).toEqual(range(1, 40));
      expect((await allEvents())[1]?.payload).toEqual({ kept: 'ä', also: 1 });
    });

    it('of no events, or in a project that does not exist, does nothing', async () => {
      await fixture().store.redact(fixture().projectKey, []);
      await fixture().store.redact(fixture().keyOf('nowhere'), []);
      expect(await fixture().store.project(fixture().keyOf('nowhere'))).toBeNull();
    });
  });
}
