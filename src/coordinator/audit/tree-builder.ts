import { CompactRange } from '../../core/audit/merkle-tree.js';
import { binaryHasher, binaryToBytes, bytesToBinary } from './audit-hash.js';

/** The state of a tree over the first events of a log. */
export interface TreeState {
  /** The position of its last event. */
  readonly size: number;
  /** The roots of its complete subtrees, from the largest to the smallest. */
  readonly subtrees: readonly Uint8Array[];
  /** The roots of its complete tiles (subtrees of 256 leaves, see `TILE_SIZE`), in log order. */
  readonly tileRoots: readonly Uint8Array[];
}

/** Maximum number of waiting leaves. Their hashes take about a megabyte. */
const WAITING_MAX = 16_384;

interface ConsecutiveLeaves {
  readonly firstPosition: number;
  readonly leafHashes: readonly string[];
}

/** Builds the audit tree of a project, event by event. */
export class TreeBuilder {
  readonly tileRoots: Uint8Array[];
  private readonly waiting: ConsecutiveLeaves[] = [];
  private waitingCount = 0;
  private readonly compactRange: CompactRange<string>;

  constructor({ size, subtrees, tileRoots }: TreeState) {
    this.tileRoots = [...tileRoots];
    const initialState = { size, subtrees: subtrees.map(bytesToBinary) };
    this.compactRange = new CompactRange(binaryHasher, initialState, (index, root) => {
      this.tileRoots[index] = binaryToBytes(root);
    });
  }

  get size(): number {
    return this.compactRange.size;
  }

  root(): Uint8Array {
    return binaryToBytes(this.compactRange.root());
  }

  subtrees(): Uint8Array[] {
    return this.compactRange.subtrees().map(binaryToBytes);
  }

  /** The first position of the leaves that wait for those before them; null if none wait. */
  get waitingFrom(): number | null {
    return this.waiting[0]?.firstPosition ?? null;
  }

  /** Adds consecutive leaves. Known leaves are skipped; leaves after a gap wait until the gap is filled. */
  addLeaves(firstPosition: number, leafHashes: readonly string[]): void {
    if (firstPosition > this.size + 1) this.keepWaiting({ firstPosition, leafHashes });
    else this.append(firstPosition, leafHashes);
    while (this.waiting.length > 0 && this.waiting[0]!.firstPosition <= this.size + 1) {
      const next = this.waiting.shift()!;
      this.append(next.firstPosition, next.leafHashes);
      this.waitingCount -= next.leafHashes.length;
    }
  }

  /** If too many leaves wait, all of them are dropped. They are read from the store later. */
  private keepWaiting(leaves: ConsecutiveLeaves): void {
    this.waiting.push(leaves);
    this.waitingCount += leaves.leafHashes.length;
    if (this.waitingCount <= WAITING_MAX) return;
    this.waiting.length = 0;
    this.waitingCount = 0;
  }

  private append(firstPosition: number, leafHashes: readonly string[]): void {
    for (let at = this.size + 1 - firstPosition; at < leafHashes.length; at += 1)
      this.compactRange.append(leafHashes[at] as string);
  }
}
