import type { BlockRange } from './block-index.js';
import { visitWholeLines } from './line-reader.js';
import { decodeLine } from './log-line.js';
import type { RecoveredLog } from './recovery.js';
import { SEAL_BYTES_MAX, SealInput, sealAtEnd, sealedText } from './seal.js';

/** Blocks this close together are read in one call. */
const GAP_BYTES_MAX = 32 * 1024;
export const READ_BYTES_MAX = 1024 * 1024;

interface SealedBlock {
  readonly index: number;
  readonly bytes: Buffer;
}

/** The last large block that was read, until the garbage collector frees it. */
interface LargeBlockMemory {
  block: WeakRef<SealedBlock> | null;
}

/**
 * The last large block of each log: a plan of a million tasks is one block of 70 MB, of which a query may return few
 * events. Small blocks are read again by each query, so that a reader notices damage.
 */
const largeBlocks = new WeakMap<RecoveredLog, LargeBlockMemory>();

/** Must be called when the bytes of blocks have changed. A read in progress keeps using its own, detached cache. */
export function forgetLargeBlock(log: RecoveredLog): void {
  largeBlocks.delete(log);
}

/**
 * Reads blocks and verifies each by its seal. Create one reader per query: it keeps the last block that it has read, which
 * is often the first block of the next page.
 */
export class BlockReader {
  private lastBlock: SealedBlock | null;
  private readonly largeBlock: LargeBlockMemory;

  constructor(private readonly log: RecoveredLog) {
    this.largeBlock = largeBlocks.get(log) ?? { block: null };
    largeBlocks.set(log, this.largeBlock);
    this.lastBlock = this.largeBlock.block?.deref() ?? null;
  }

  /** The blocks with these ascending indexes. Rejects with `LogDamaged`. Reads that are far apart run concurrently. */
  async read(indexes: readonly number[]): Promise<ReadonlyMap<number, Buffer>> {
    const cached = this.lastBlock?.index === indexes[0] ? this.lastBlock : null;
    const spans = this.spansOf(cached === null ? indexes : indexes.slice(1));
    const newBlocks = (await Promise.all(spans.map((span) => this.readSpan(span)))).flat();
    const blocks = cached === null ? newBlocks : [cached, ...newBlocks];
    this.remember(blocks.at(-1) ?? null);
    return new Map(blocks.map(({ index, bytes }) => [index, bytes]));
  }

  private remember(block: SealedBlock | null): void {
    this.lastBlock = block;
    if (block !== null && block.bytes.length > READ_BYTES_MAX) this.largeBlock.block = new WeakRef(block);
  }

  private spansOf(indexes: readonly number[]): number[][] {
    const { blocks } = this.log.state;
    const spans: number[][] = [];
    let current: BlockRange = { start: 0, end: Number.NEGATIVE_INFINITY };
    for (const index of indexes) {
      const { start, end } = blocks.range(index);
      const isNear =
        start - current.end <= GAP_BYTES_MAX &&
        end - current.start <= READ_BYTES_MAX &&
        this.log.files.segmentAt(start) === this.log.files.segmentAt(current.start);
      if (isNear) spans.at(-1)?.push(index);
      else spans.push([index]);
      current = { start: isNear ? current.start : start, end };
    }
    return spans;
  }

  private async readSpan(indexes: readonly number[]): Promise<SealedBlock[]> {
    const { files, state } = this.log;
    const { start } = state.blocks.range(indexes[0] as number);
    const { end } = state.blocks.range(indexes.at(-1) as number);
    const [bytes, sealBefore] = await Promise.all([
      files.read(start, end - start),
      this.sealBefore(indexes[0] as number),
    ]);
    const spanBytes = bytes ?? Buffer.alloc(0);
    const blocks: SealedBlock[] = [];
    for (const index of indexes) {
      const range = state.blocks.range(index);
      const block = spanBytes.subarray(range.start - start, range.end - start);
      const blockSealBefore =
        index === indexes[0]
          ? sealBefore
          : sealAtEnd(spanBytes.subarray(0, state.blocks.range(index - 1).end - start));
      const why = blockError(block, blockSealBefore);
      if (why !== null) throw await files.damageAt(state.ledger.key, range.start, why, range.end);
      blocks.push({ index, bytes: block });
    }
    return blocks;
  }

  /** The seal that a block continues. */
  private async sealBefore(index: number): Promise<string> {
    const { blocks } = this.log.state;
    if (index === 0) return blocks.sealBefore;
    const { start, end } = blocks.range(index - 1);
    const from = Math.max(start, end - SEAL_BYTES_MAX);
    return sealAtEnd((await this.log.files.read(from, end - from)) ?? Buffer.alloc(0));
  }
}

const sealInput = new SealInput();

/** Why the bytes of a block are not what was sealed; null if they are. */
function blockError(bytes: Buffer, sealBefore: string): string | null {
  const lines: Buffer[] = [];
  visitWholeLines(bytes, 0, (line) => lines.push(line));
  const last = lines.pop();
  const decoded = last === undefined ? '' : decodeLine(last);
  if (last === undefined || typeof decoded === 'string' || decoded.kind !== 'seal')
    return 'the block is cut off, or its seal is missing';
  sealInput.begin(sealBefore);
  for (const line of lines) sealInput.addLine(line);
  const isIntact =
    decoded.seal.lines === lines.length && sealInput.digest(sealedText(last)) === decoded.seal.seal;
  return isIntact ? null : 'the seal does not match';
}
