import type { NewEvent } from '../core/events/envelope.js';
import type { HeadSwap, Transaction } from './store.js';

/** Throws if a transaction is malformed: that is a bug in the caller, and no store may apply such a transaction. */
export function assertWellFormed(transaction: Transaction): void {
  for (const swap of transaction.swaps) assertSwap(transaction, swap);
  for (const looseEvent of transaction.loose_events) {
    assertProject(transaction, looseEvent);
    if (looseEvent.seq !== undefined)
      throwMalformed(transaction, `the loose event ${looseEvent.event_id} has a seq, but changes no head`);
  }
  const { swaps, requests, permit_limits } = transaction;
  if (swaps.length > 1)
    assertDistinct(
      transaction,
      'swapped',
      swaps.map(({ subject }) => subject),
    );
  if (requests.length > 1)
    assertDistinct(
      transaction,
      'requested',
      requests.map(({ key }) => key),
    );
  if (permit_limits.length > 1)
    assertDistinct(
      transaction,
      'limited',
      permit_limits.map(({ scope }) => scope),
    );
}

function assertSwap(transaction: Transaction, { subject, expected_seq, head, events }: HeadSwap): void {
  if (!Number.isSafeInteger(expected_seq) || expected_seq < 0) {
    throwMalformed(transaction, `the expected seq ${expected_seq} of ${subject} is invalid`);
  }
  if (events.length === 0) throwMalformed(transaction, `the swap of ${subject} has no events`);
  if (head.subject !== subject)
    throwMalformed(transaction, `the swap of ${subject} has the head of ${head.subject}`);
  if (head.seq !== expected_seq + events.length) {
    throwMalformed(
      transaction,
      `the head of ${subject} has seq ${head.seq}, not ${expected_seq + events.length}`,
    );
  }
  for (let index = 0; index < events.length; index += 1) {
    const event = events[index] as NewEvent;
    assertProject(transaction, event);
    if (event.subject !== subject || event.seq !== expected_seq + 1 + index) {
      throwMalformed(
        transaction,
        `event ${event.seq} of ${event.subject} is in place of event ${expected_seq + 1 + index} of ${subject}`,
      );
    }
  }
}

function assertProject(transaction: Transaction, event: NewEvent): void {
  if (event.tenant_id !== transaction.tenant_id || event.project_id !== transaction.project_id) {
    throwMalformed(
      transaction,
      `the event ${event.event_id} belongs to ${event.tenant_id}/${event.project_id}`,
    );
  }
  if ('position' in event)
    throwMalformed(transaction, `the event ${event.event_id} has a position before its commit`);
}

function assertDistinct(transaction: Transaction, participle: string, names: readonly string[]): void {
  if (new Set(names).size === names.length) return;
  const repeatedName = names.find((name, index) => names.indexOf(name) !== index);
  throwMalformed(transaction, `${repeatedName} is ${participle} twice`);
}

function throwMalformed(transaction: Transaction, why: string): never {
  throw new Error(`Malformed transaction for ${transaction.tenant_id}/${transaction.project_id}: ${why}.`);
}
