import type { ImportedCount } from '../../core/contract/events.js';
import { isoTime, msOf, type NewEvent } from '../../core/events/envelope.js';
import {
  type ProjectKey,
  type Store,
  TRANSACTION_SIZE_MAX,
  type TransactionSize,
} from '../../stores/store.js';
import { transactionOf } from '../../stores/transaction.js';
import { type AsyncReply, type Problem, problem } from '../wire/problem.js';

/** Caps the events' times at the store's: a future timestamp would advance the store's clock. */
export const clampTimestamps = (events: readonly NewEvent[], nowMs: number): NewEvent[] =>
  events.map((event) => (msOf(event.timestamp) <= nowMs ? event : { ...event, timestamp: isoTime(nowMs) }));

/**
 * Commits imported events in one transaction, so that a failure leaves all of them or none. If they exceed what the
 * store applies at once, the import is refused, unless it may be written in parts. Events with a known id are skipped.
 */
export async function commitImported(
  store: Store,
  projectKey: ProjectKey,
  events: readonly NewEvent[],
  isInParts = false,
): AsyncReply<ImportedCount> {
  const { capabilities } = (await store.storeOf?.(projectKey.tenant_id)) ?? store;
  const sizeMax = capabilities.transaction_size_max ?? TRANSACTION_SIZE_MAX;
  const parts = [...partsOf(events, sizeMax)];
  if (parts.length > 1 && !isInParts) return importTooLarge(sizeMax);
  let written = 0;
  for (const part of parts) {
    const [outcome] = await store.commit([transactionOf(projectKey, { loose_events: part })]);
    if (outcome?.kind !== 'committed')
      throw new Error(`events without preconditions were not committed: ${outcome?.kind}`);
    written += outcome.positions.filter((position) => position !== null).length;
  }
  return { written, already_there: events.length - written };
}

export const importTooLarge = ({ events, bytes }: TransactionSize): Problem =>
  problem(
    'BODY_TOO_LARGE',
    `Nothing was imported: the store writes at most ${events} events or ${bytes} bytes at once, and the log has more. To write it in parts, pass --in-parts, or in_parts over HTTP. If an import in parts fails, the parts already written stay, and repeating the import completes it.`,
  );

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
