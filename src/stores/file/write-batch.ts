import type { NewEvent } from '../../core/events/envelope.js';
import type { TransactionFields } from '../ledger.js';
import type { BlockWriter, BlockWriters } from './block-writer.js';
import type { ForeignCover } from './seal.js';

/** Transactions that one write and one sync make durable together. They are encoded as they are applied. */
export class WriteBatch {
  transactions = 0;
  /** The store's time at the last transaction. */
  at_ms = 0;
  /** The events in order, and the offset of each event's line from the start of the batch. */
  readonly events: NewEvent[] = [];
  readonly offsets: number[] = [];
  /** The hashes of the events as leaves of the audit tree; null if no listener needs them. */
  readonly leafHashes: string[] | null;
  readonly durable: Promise<void>;
  /** Settle `durable`. */
  resolve!: () => void;
  reject!: (error: Error) => void;
  /** Taken with the first transaction, because most logs are idle. */
  private writer: BlockWriter | null = null;
  private failure: { readonly error: unknown } | null = null;

  constructor(
    private readonly writers: BlockWriters,
    /** The last seal of the previous batch. */
    private readonly sealBefore: string,
    /** The last durable position when the batch was started. */
    private readonly durablePosition: number,
    hasLeafHashes = false,
  ) {
    this.leafHashes = hasLeafHashes ? [] : null;
    this.durable = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // The failure of a batch that nobody waits for is reported elsewhere, and must not be an unhandled rejection.
    this.durable.catch(() => {});
  }

  /** Never throws, because memory has the transaction already: a failure is thrown by `finish`. */
  add(events: readonly NewEvent[], firstPosition: number, fields: TransactionFields, nowMs: number): void {
    try {
      this.writer ??= this.writers.take(this.sealBefore);
      // A full block is sealed only when the next one begins: if it is the last one, `finish` seals it, because the last
      // seal covers the foreign lines.
      if (this.writer.isFull) this.writer.sealBlock({ durable: this.durablePosition, at_ms: this.at_ms });
      this.encode(this.writer, events, firstPosition, fields);
    } catch (error) {
      this.failure ??= { error };
    }
    this.transactions += 1;
    this.at_ms = nowMs;
  }

  private encode(
    writer: BlockWriter,
    events: readonly NewEvent[],
    firstPosition: number,
    fields: TransactionFields,
  ): void {
    const parts = events.length;
    if (parts === 0) writer.addRecord(fields);
    for (let part = 1; part <= parts; part += 1) {
      const event = events[part - 1] as NewEvent;
      this.events.push(event);
      this.offsets.push(writer.length);
      const unit = parts === 1 ? '' : `${part}/${parts}`;
      writer.addEvent(event, firstPosition + part - 1, unit, part === parts ? fields : null);
      this.leafHashes?.push(writer.leafHash());
    }
  }

  /** Seals the last block, which covers the foreign lines. Returns the bytes to write. */
  finish(durablePosition: number, foreign: ForeignCover | undefined): SealedBatch {
    if (this.failure !== null) throw this.failure.error;
    this.writer ??= this.writers.take(this.sealBefore);
    const { writer, at_ms } = this;
    writer.sealBlock({ durable: durablePosition, at_ms, foreign });
    return { bytes: writer.bytes, seal: writer.seal, blocks: writer.blocks };
  }

  /** Gives the buffers back. The sealed batch must not be used any more. */
  release(): void {
    if (this.writer !== null) this.writers.giveBack(this.writer);
    this.writer = null;
  }
}

export interface SealedBatch {
  readonly bytes: Buffer;
  readonly seal: string;
  /** The start and the end of each block from the start of the batch, alternating. */
  readonly blocks: readonly number[];
}
