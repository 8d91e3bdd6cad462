import type { EventEnvelope } from '../../core/events/envelope.js';
import { expect } from './expect.js';
import { type CommittedOutcome, eventOf, range, type StoreFixture, transactionOf } from './fixture.js';
import { describe, it } from './test-list.js';

const CALLERS = 8;
const COMMITS = 80;

export function describeOrder(fixture: () => StoreFixture): void {
  describe('the order of events', () => {
    // req: EVT-009, EVT-012
    it('has no gaps and matches the order of concurrent commits', async () => {
      const positionByEvent = await commitConcurrently(fixture());
      const events = await fixture().store.events(fixture().projectKey, { after: 0, limit: 10_000 });
      expect(events.map((event) => event.position)).toEqual(range(1, events.length));
      for (const [eventId, position] of positionByEvent) expect(events[position - 1]?.event_id).toBe(eventId);
      expect(events).toHaveLength(positionByEvent.size);
      expect(await fixture().store.project(fixture().projectKey)).toMatchObject({ position: events.length });
      expectSeqsInOrder(events);
    });

    it('keeps the events of a transaction together', async () => {
      await Promise.all(
        range(1, 40).map((n) =>
          fixture().expectCommitted({
            swaps: [fixture().swap(`~x${n}`, 0, 2), fixture().swap(`~y${n}`, 0, 2)],
          }),
        ),
      );
      const events = await fixture().store.events(fixture().projectKey, { after: 0, limit: 1000 });
      for (let first = 0; first < events.length; first += 4) {
        const transaction = events.slice(first, first + 4).map((event) => event.subject?.slice(2));
        expect(new Set(transaction).size).toBe(1);
      }
    });
  });
}

/** Concurrent callers swap a subject of their own and a contested one. Returns the reported positions by event id. */
async function commitConcurrently(fixture: StoreFixture): Promise<Map<string, number>> {
  const positionByEvent = new Map<string, number>();
  const commitAsCaller = async (caller: number) => {
    let contestedSeq = 0;
    for (const n of range(1, COMMITS / CALLERS)) {
      const ownSwap = transactionOf(fixture.projectKey, {
        swaps: [fixture.swap(`~own${caller}`, n - 1)],
        loose_events: [eventOf(fixture.projectKey, {})],
      });
      const contestedSwap = transactionOf(fixture.projectKey, {
        swaps: [fixture.swap('~contested', contestedSeq)],
      });
      const [first, second] = await fixture.store.commit([ownSwap, contestedSwap]);
      expect(first?.kind).toBe('committed');
      if (second?.kind === 'conflict') contestedSeq = second.heads[0]?.head?.seq ?? 0;
      if (second?.kind === 'committed') contestedSeq += 1;
      for (const [transaction, outcome] of [[ownSwap, first] as const, [contestedSwap, second] as const]) {
        if (outcome?.kind !== 'committed') continue;
        const events = [...transaction.swaps.flatMap((swap) => swap.events), ...transaction.loose_events];
        for (const [i, position] of (outcome as CommittedOutcome).positions.entries()) {
          positionByEvent.set(events[i]?.event_id as string, position as number);
        }
      }
    }
  };
  await Promise.all(range(1, CALLERS).map(commitAsCaller));
  return positionByEvent;
}

function expectSeqsInOrder(events: readonly EventEnvelope[]): void {
  const last = new Map<string, number>();
  for (const { subject, seq } of events) {
    if (subject === undefined || seq === undefined) continue;
    expect(seq).toBe((last.get(subject) ?? 0) + 1);
    last.set(subject, seq);
  }
}
