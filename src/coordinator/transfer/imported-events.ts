import { isoTime, msOf, type NewEvent } from '../../core/events/envelope.js';
import {
  type ProjectKey,
  type Store,
  TRANSACTION_SIZE_MAX,
  type TransactionSize,
} from '../../stores/store.js';
import { transactionOf } from '../../stores/transaction.js';

/** Caps the events' times at the store's: a future timestamp would advance the store's clock. */
export const clampTimestamps = (events: readonly NewEvent[], nowMs: number): NewEvent[] =>
  events.map((event) => (msOf(event.timestamp) <= nowMs ? event : { ...event, timestamp: isoTime(nowMs) }));

/**
 * Commits imported events in one transaction, so that a failure leaves all of them or none; in several if they exceed
 * what the store applies at once. Events with a known id are skipped.
 */
export async function commitImported(store: Store, projectKey: ProjectKey, events: readonly NewEvent[]) {
  const { capabilities } = (await store.storeOf?.(projectKey.tenant_id)) ?? store;
  let written = 0;
  for (const part of partsOf(events, capabilities.transaction_size_max ?? TRANSACTION_SIZE_MAX)) {
    const [outcome] = await store.commit([transactionOf(projectKey, { loose_events: part })]);
    if (outcome?.kind !== 'committed')
      throw new Error(`events without preconditions were not committed: ${outcome?.kind}`);
    written += outcome.positions.filter((position) => position !== null).length;
  }
  return { written, already_there: events.length - written };
}

/** Splits events into parts of at most this size, in order. */
export function* partsOf<Event>(
  events: readonly Event[],
  sizeMax: TransactionSize,
): Generator<readonly Event[]> {
  let part: Event[] = [];
  let bytes = 0;
  for (const event of events) {
    const size = Buffer.byteLength(JSON.stringify(event));
    if (part.length > 0 && (part.length === sizeMax.events || bytes + size > sizeMax.bytes)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(event);
    bytes += size;
  }
  if (part.length > 0) yield part;
}
