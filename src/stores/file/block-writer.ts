import { hash } from 'node:crypto';
import type { NewEvent } from '../../core/events/envelope.js';
import type { TransactionRecord } from '../ledger.js';
import { PAYLOAD } from './line.js';
import { LineText, recordLineText } from './line-text.js';
import { type ForeignCover, SealInput } from './seal.js';

/** A block of at least this many bytes is sealed; a transaction never spans two. */
export const BLOCK_BYTES = 64 * 1024;
/** Enough for a few commands: with many projects a batch has one. */
const FIRST_BYTES = 8 * 1024;
const FIRST_LEAF_BYTES = 1024;
/** A UTF-16 code unit takes at most three bytes in UTF-8. */
const BYTES_PER_CHARACTER_MAX = 3;

/** What a seal records in addition to its block. */
export interface SealFields {
  readonly durable: number;
  readonly at_ms: number;
  readonly foreign?: ForeignCover | undefined;
}

/**
 * Writes blocks into one growing buffer, and what a seal covers into a second, so that a block takes one hash. Both are
 * reused for later batches.
 */
export class BlockWriter {
  length = 0;
  /** The start and the end of each sealed block, in turn. */
  readonly blocks: number[] = [];
  private buffer = Buffer.allocUnsafe(FIRST_BYTES);
  private readonly sealInput = new SealInput();
  private readonly text = new LineText();
  private blockStart = 0;
  /** Where the last line begins, and whether each of its characters is one byte. */
  private lastStart = 0;
  private isLastAscii = true;
  private leafInput = Buffer.alloc(FIRST_LEAF_BYTES);
  /** The lines of the block that is not sealed yet. */
  private lines = 0;
  private sealBefore = '';

  /** Starts a batch. The batch before may have left anything. */
  begin(sealBefore: string): void {
    this.length = 0;
    this.lines = 0;
    this.blocks.length = 0;
    this.blockStart = 0;
    this.sealBefore = sealBefore;
    this.sealInput.begin(sealBefore);
  }

  get bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  get memoryBytes(): number {
    return this.buffer.length + this.sealInput.memoryBytes;
  }

  /** The last seal. */
  get seal(): string {
    return this.sealBefore;
  }

  /**
   * The hash of the last event as a leaf of the audit tree. The beginning of the leaf is in the buffer already: to copy
   * it takes a fraction of the time of encoding it again.
   */
  leafHash(): string {
    const { leafStart, leafEnd } = this.text;
    const startBytes = this.isLastAscii ? leafStart.length : Buffer.byteLength(leafStart);
    const bytes = 1 + startBytes + leafEnd.length;
    if (bytes > this.leafInput.length) this.leafInput = Buffer.alloc(2 * bytes);
    // RFC 6962 puts a zero byte before a leaf.
    this.buffer.copy(this.leafInput, 1, this.lastStart, this.lastStart + startBytes);
    this.leafInput.write(leafEnd, 1 + startBytes, 'latin1');
    return hash('sha256', this.leafInput.subarray(0, bytes), 'binary');
  }

  /** Whether the block is large enough to be sealed. */
  get isFull(): boolean {
    return this.length - this.blockStart >= BLOCK_BYTES;
  }

  addEvent(event: NewEvent, position: number, unit: string, record: TransactionRecord | null): void {
    const start = this.length;
    const payload = JSON.stringify(event.payload);
    const covered = this.text.ofEvent(event, position, unit, payload, record);
    const line = `${covered}${PAYLOAD}${payload}}\n`;
    this.append(line);
    this.lastStart = start;
    this.isLastAscii = this.length - start === line.length;
    const coveredBytes = this.isLastAscii ? covered.length : Buffer.byteLength(covered);
    this.sealInput.addCovered(this.buffer, start, start + coveredBytes);
    this.lines += 1;
  }

  addRecord(record: TransactionRecord): void {
    const start = this.length;
    this.append(`${recordLineText(record)}\n`);
    this.sealInput.addCovered(this.buffer, start, this.length - 1);
    this.lines += 1;
  }

  sealBlock({ durable, at_ms, foreign }: SealFields): void {
    const continues = this.blocks.length > 0 ? ',"continues":true' : '';
    const foreignText = foreign === undefined ? '' : `,"foreign":${JSON.stringify(foreign)}`;
    const text = `"lines":${this.lines},"durable":${durable},"at_ms":${at_ms}${continues}${foreignText}}`;
    this.sealBefore = this.sealInput.digest(text);
    this.append(`{"seal":"${this.sealBefore}",${text}\n`);
    this.blocks.push(this.blockStart, this.length);
    this.blockStart = this.length;
    this.lines = 0;
    this.sealInput.begin(this.sealBefore);
  }

  private append(text: string): void {
    const needed = this.length + text.length * BYTES_PER_CHARACTER_MAX;
    if (needed > this.buffer.length) this.grow(needed);
    this.length += this.buffer.write(text, this.length);
  }

  private grow(needed: number): void {
    const grown = Buffer.allocUnsafe(Math.max(needed, this.buffer.length * 2));
    this.buffer.copy(grown, 0, 0, this.length);
    this.buffer = grown;
  }
}

const BYTES_KEPT_MAX = 16 * 1024 * 1024;

/** Writers of finished batches, for the next ones. Bounded, so that many idle projects take no memory. */
export class BlockWriters {
  private readonly idle: BlockWriter[] = [];
  private idleBytes = 0;

  take(sealBefore: string): BlockWriter {
    const idle = this.idle.pop();
    if (idle !== undefined) this.idleBytes -= idle.memoryBytes;
    const writer = idle ?? new BlockWriter();
    writer.begin(sealBefore);
    return writer;
  }

  /** Nothing may use its bytes any more. */
  giveBack(writer: BlockWriter): void {
    if (this.idleBytes + writer.memoryBytes > BYTES_KEPT_MAX) return;
    this.idle.push(writer);
    this.idleBytes += writer.memoryBytes;
  }
}
