import { CHAIN_START } from './line.js';
import { NumberList } from './offsets.js';

/** A block's range of bytes in the whole log, with its seal. */
export interface BlockRange {
  readonly start: number;
  readonly end: number;
}

/** Where the blocks of a log are: sixteen bytes per block. Between two blocks there may be foreign lines, or a new file. */
export class BlockIndex {
  constructor(
    /** The seal before the first block. */
    public sealBefore = CHAIN_START,
    /** The start and the end of each block, alternating. */
    private readonly bounds = new NumberList(),
  ) {}

  get count(): number {
    return this.bounds.length / 2;
  }

  /** `sealBefore`: the seal of the block before; for the first block the hash of the last format-1 line, or `CHAIN_START`. */
  add(start: number, end: number, sealBefore: string): void {
    if (this.bounds.length === 0) this.sealBefore = sealBefore;
    this.bounds.add(start);
    this.bounds.add(end);
  }

  /** The range of a block; blocks are numbered from 0. */
  range(index: number): BlockRange {
    const start = this.bounds.at(index * 2);
    const end = this.bounds.at(index * 2 + 1);
    if (start === undefined || end === undefined) throw new Error(`The log has no block ${index}.`);
    return { start, end };
  }

  /** The block that contains the event's line at an offset; null for a format-1 line, which comes before all blocks. */
  blockAt(offset: number): number | null {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.bounds.at(middle * 2) as number) <= offset) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? null : low - 1;
  }

  copy(): Float64Array {
    return this.bounds.copy();
  }
}
