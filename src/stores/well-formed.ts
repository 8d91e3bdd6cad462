import type { NewEvent } from '../core/events/envelope.js';
import type { HeadSwap, Transaction } from './store.js';

/** Throws if a transaction is malformed. That is a bug in the caller, and no store may apply it. */
export function assertWellFormed(transaction: Transaction): void {
  for (const swap of transaction.swaps) assertSwap(transaction, swap);
  for (const looseEvent of transaction.loose_events) {
    assertProject(transaction, looseEvent);
    if (looseEvent.seq !== undefined)
      malformed(transaction, `the note ${looseEvent.event_id} has a seq, but notes move no head`);
  }
  if (transaction.swaps.length > 1) {
    assertDistinct(transaction, 'swapped', transaction.swaps, (swap) => swap.subject);
  }
  if (transaction.requests.length > 1) {
    assertDistinct(transaction, 'asked for', transaction.requests, (request) => request.key);
  }
}

function assertSwap(transaction: Transaction, { subject, expected_seq, head, events }: HeadSwap): void {
  if (!Number.isSafeInteger(expected_seq) || expected_seq < 0) {
    malformed(transaction, `${subject} expects the seq ${expected_seq}`);
  }
  if (events.length === 0) malformed(transaction, `the swap of ${subject} has no events`);
  if (head.subject !== subject)
    malformed(transaction, `the swap of ${subject} has the head of ${head.subject}`);
  if (head.seq !== expected_seq + events.length) {
    malformed(transaction, `the head of ${subject} has seq ${head.seq}, not ${expected_seq + events.length}`);
  }
  for (let index = 0; index < events.length; index += 1) {
    const event = events[index] as NewEvent;
    assertProject(transaction, event);
    if (event.subject !== subject || event.seq !== expected_seq + 1 + index) {
      malformed(transaction, `event ${index} of ${subject} is event ${event.seq} of ${event.subject}`);
    }
  }
}

function assertProject(transaction: Transaction, event: NewEvent): void {
  if (event.tenant_id !== transaction.tenant_id || event.project_id !== transaction.project_id) {
    malformed(transaction, `the event ${event.event_id} belongs to ${event.tenant_id}/${event.project_id}`);
  }
  if ('position' in event)
    malformed(transaction, `the event ${event.event_id} has a position before its commit`);
}

function assertDistinct<T>(
  transaction: Transaction,
  done: string,
  parts: readonly T[],
  nameOf: (part: T) => string,
): void {
  const names = new Set<string>();
  for (const part of parts) {
    const name = nameOf(part);
    if (names.has(name)) malformed(transaction, `${name} is ${done} twice`);
    names.add(name);
  }
}

function malformed(transaction: Transaction, why: string): never {
  throw new Error(`Malformed unit for ${transaction.tenant_id}/${transaction.project_id}: ${why}.`);
}
