import type { ImportedCount } from '../../core/contract/events.js';
import type { NewEvent } from '../../core/events/envelope.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { transactionOf } from '../../stores/transaction.js';

/** Commits imported events, each in its own transaction. Events with a known id are skipped. */
export async function commitImported(
  store: Store,
  key: ProjectKey,
  events: readonly NewEvent[],
): Promise<ImportedCount> {
  const outcomes = await store.commit(events.map((event) => transactionOf(key, { loose_events: [event] })));
  let written = 0;
  for (const outcome of outcomes) {
    if (outcome.kind !== 'committed')
      throw new Error(`an event without preconditions was not committed: ${outcome.kind}`);
    if (outcome.positions[0] !== null) written += 1;
  }
  return { written, already_there: events.length - written };
}
