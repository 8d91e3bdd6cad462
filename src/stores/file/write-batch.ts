import type { NewEvent } from '../../core/events/envelope.js';
import type { TransactionRecord } from '../ledger.js';
import { EventLineWriter, type LinePosition } from './line-writer.js';

/** A transaction that is applied in memory and not yet on disk. */
export interface PendingTransaction {
  readonly events: readonly NewEvent[];
  readonly first_position: number;
  readonly record: TransactionRecord;
}

/** Transactions that one write and one sync make durable together. */
export class WriteBatch {
  readonly units: PendingTransaction[] = [];
  /** The store's time at the last of them. */
  at_ms = 0;
  readonly durable: Promise<void>;
  resolve!: () => void;
  reject!: (error: Error) => void;

  constructor() {
    this.durable = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // Every batch with transactions has a waiter; the failure of a batch that nobody awaits is reported elsewhere.
    this.durable.catch(() => {});
  }
}

export interface EncodedBatch {
  readonly bytes: Buffer;
  readonly hash: string;
  /** The events in order, and the offset of each event's line from the start of the batch. */
  readonly events: readonly NewEvent[];
  readonly offsets: readonly number[];
}

export function encodeBatch(
  { units: transactions, at_ms }: Pick<WriteBatch, 'units' | 'at_ms'>,
  prev: string,
  durable: number,
): EncodedBatch {
  const out = new EventLineWriter();
  const lines: NewEvent[] = [];
  const offsets: number[] = [];
  let hash = prev;
  for (const { events, first_position, record } of transactions) {
    const parts = Math.max(events.length, 1);
    for (let part = 1; part <= parts; part += 1) {
      const event = events[part - 1] ?? null;
      if (event !== null) {
        lines.push(event);
        offsets.push(out.length);
      }
      const linePosition: LinePosition = { prev: hash, position: first_position + part - 1, part, parts };
      const isFirst = out.length === 0;
      hash = out.write(
        event,
        isFirst ? { ...linePosition, durable, at_ms } : linePosition,
        part === parts ? record : null,
      );
    }
  }
  return { bytes: out.bytes, hash, events: lines, offsets };
}
