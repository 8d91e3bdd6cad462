import { describe, expect, it } from 'vitest';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { type Committed, eventOf, range, type Scene, unitOf } from './scene.js';

const CALLERS = 8;
const COMMITS = 200;

export function describeOrder(scene: () => Scene): void {
  describe('the order of events', () => {
    it('has no gaps and is the order of the commits, under 200 concurrent commits', async () => {
      const wanted = await commitConcurrently(scene());
      const events = await scene().store.events(scene().project, { after: 0, limit: 10_000 });
      expect(events.map((event) => event.position)).toEqual(range(1, events.length));
      for (const [event_id, position] of wanted) expect(events[position - 1]?.event_id).toBe(event_id);
      expect(events).toHaveLength(wanted.size);
      expect(await scene().store.project(scene().project)).toMatchObject({ position: events.length });
      expectSeqsInOrder(events);
    });

    it('keeps the events of a unit together', async () => {
      await Promise.all(
        range(1, 40).map((n) =>
          scene().committed({ swaps: [scene().swap(`~x${n}`, 0, 2), scene().swap(`~y${n}`, 0, 2)] }),
        ),
      );
      const events = await scene().store.events(scene().project, { after: 0, limit: 1000 });
      for (let first = 0; first < events.length; first += 4) {
        const unit = events.slice(first, first + 4).map((event) => event.subject?.slice(2));
        expect(new Set(unit).size).toBe(1);
      }
    });
  });
}

/** Callers of their own subjects and one subject they fight for. Gives the positions they were told, by event. */
async function commitConcurrently(scene: Scene): Promise<Map<string, number>> {
  const told = new Map<string, number>();
  const caller = async (name: number) => {
    let contested_seq = 0;
    for (const n of range(1, COMMITS / CALLERS)) {
      const own = unitOf(scene.project, {
        swaps: [scene.swap(`~own${name}`, n - 1)],
        notes: [eventOf(scene.project, {})],
      });
      const contested = unitOf(scene.project, { swaps: [scene.swap('~contested', contested_seq)] });
      const [first, second] = await scene.store.commit([own, contested]);
      expect(first?.kind).toBe('committed');
      if (second?.kind === 'conflict') contested_seq = second.heads[0]?.head?.seq ?? 0;
      if (second?.kind === 'committed') contested_seq += 1;
      for (const [unit, outcome] of [[own, first] as const, [contested, second] as const]) {
        if (outcome?.kind !== 'committed') continue;
        const events = [...unit.swaps.flatMap((swap) => swap.events), ...unit.notes];
        for (const [i, position] of (outcome as Committed).positions.entries()) {
          told.set(events[i]?.event_id as string, position as number);
        }
      }
    }
  };
  await Promise.all(range(1, CALLERS).map(caller));
  return told;
}

function expectSeqsInOrder(events: readonly EventEnvelope[]): void {
  const last = new Map<string, number>();
  for (const { subject, seq } of events) {
    if (subject === undefined || seq === undefined) continue;
    expect(seq).toBe((last.get(subject) ?? 0) + 1);
    last.set(subject, seq);
  }
}
