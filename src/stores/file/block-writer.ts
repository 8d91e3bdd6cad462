import { hash } from 'node:crypto';
import type { NewEvent } from '../../core/events/envelope.js';
import type { TransactionFields } from '../ledger.js';
import { ByteWriter } from './byte-writer.js';
import { LineWriter, writeRecordLine } from './line-writer.js';
import { type ForeignCover, SealInput } from './seal.js';

/** A block is sealed when it has at least this many bytes, or its batch ends. A transaction never spans two blocks. */
export const BLOCK_BYTES = 64 * 1024;
/** Enough for a few commands: with many projects, a batch often has a single command. */
const INITIAL_BYTES = 8 * 1024;
const INITIAL_LEAF_BYTES = 1024;

/** What a seal records in addition to its block. */
interface SealFields {
  readonly durable: number;
  readonly at_ms: number;
  readonly foreign?: ForeignCover | undefined;
}

/**
 * Writes blocks into one growing buffer, and what a seal covers into a second, so that one hash seals a block. Both
 * buffers are reused for later batches.
 */
export class BlockWriter {
  /** The start and the end of each sealed block, alternating. */
  readonly blocks: number[] = [];
  private readonly out = new ByteWriter(Buffer.allocUnsafe(INITIAL_BYTES));
  private readonly lineWriter = new LineWriter(this.out);
  private readonly leafInput = new ByteWriter(Buffer.allocUnsafe(INITIAL_LEAF_BYTES));
  private readonly sealInput = new SealInput();
  private blockStart = 0;
  /** The start of the last line, and the end of its envelope, with which its leaf begins. */
  private lastLineStart = 0;
  private lastEnvelopeEnd = 0;
  /** The number of lines in the block that is not sealed yet. */
  private lines = 0;
  private sealBefore = '';

  /** Starts a batch, whatever the previous batch has left. */
  begin(sealBefore: string): void {
    this.out.length = 0;
    this.lines = 0;
    this.blocks.length = 0;
    this.blockStart = 0;
    this.sealBefore = sealBefore;
    this.sealInput.begin(sealBefore);
  }

  get length(): number {
    return this.out.length;
  }

  get bytes(): Buffer {
    return this.out.bytes.subarray(0, this.out.length);
  }

  get memoryBytes(): number {
    return this.out.bytes.length + this.sealInput.memoryBytes;
  }

  /** The last seal. */
  get seal(): string {
    return this.sealBefore;
  }

  /**
   * The hash of the last event as a leaf of the audit tree. The beginning of the leaf is in the buffer already: copying
   * it takes a fraction of the time of encoding it again.
   */
  leafHash(): string {
    const { leafInput, lastLineStart, lastEnvelopeEnd } = this;
    leafInput.length = 0;
    // RFC 6962 puts a zero byte before a leaf.
    leafInput.utf8('\0');
    leafInput.copyOf(this.out.bytes, lastLineStart, lastEnvelopeEnd);
    leafInput.utf8(`,"payload_sha256":"${this.lineWriter.payload_sha256}"}`);
    return hash('sha256', leafInput.bytes.subarray(0, leafInput.length), 'binary');
  }

  /** Whether the block is large enough to be sealed. */
  get isFull(): boolean {
    return this.length - this.blockStart >= BLOCK_BYTES;
  }

  addEvent(event: NewEvent, position: number, unit: string, fields: TransactionFields | null): void {
    const start = this.length;
    const { envelope_end, covered_end } = this.lineWriter.event(event, position, unit, fields);
    this.lastLineStart = start;
    this.lastEnvelopeEnd = envelope_end;
    this.sealInput.addCovered(this.out.bytes, start, covered_end);
    this.lines += 1;
  }

  addRecord(fields: TransactionFields): void {
    const start = this.length;
    writeRecordLine(this.out, fields);
    this.sealInput.addCovered(this.out.bytes, start, this.length - 1);
    this.lines += 1;
  }

  sealBlock({ durable, at_ms, foreign }: SealFields): void {
    const continues = this.blocks.length > 0 ? ',"continues":true' : '';
    const foreignText = foreign === undefined ? '' : `,"foreign":${JSON.stringify(foreign)}`;
    const text = `"lines":${this.lines},"durable":${durable},"at_ms":${at_ms}${continues}${foreignText}}`;
    this.sealBefore = this.sealInput.digest(text);
    this.out.utf8(`{"seal":"${this.sealBefore}",${text}\n`);
    this.blocks.push(this.blockStart, this.length);
    this.blockStart = this.length;
    this.lines = 0;
    this.sealInput.begin(this.sealBefore);
  }
}

const IDLE_BYTES_MAX = 16 * 1024 * 1024;

/** Writers that finished batches have given back, for reuse. Bounded, so that many idle projects take no memory. */
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

  /** The caller must not use the writer's bytes any more. */
  giveBack(writer: BlockWriter): void {
    if (this.idleBytes + writer.memoryBytes > IDLE_BYTES_MAX) return;
    this.idle.push(writer);
    this.idleBytes += writer.memoryBytes;
  }
}
