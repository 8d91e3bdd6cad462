import { CompactRange } from '../../core/audit/merkle-tree.js';
import { sha256 } from './audit-hash.js';

/** A tree of the first events of a log. */
export interface TreeState {
  /** The position of its last event. */
  readonly size: number;
  /** The roots of its complete subtrees, from the largest to the smallest. */
  readonly subtrees: readonly Uint8Array[];
  /** The roots of its complete tiles. */
  readonly tileRoots: readonly Uint8Array[];
}

/** Builds the audit tree of a project, event by event. */
export class TreeBuilder {
  readonly tileRoots: Uint8Array[];
  private readonly compactRange: CompactRange;

  constructor({ size, subtrees, tileRoots }: TreeState) {
    this.tileRoots = [...tileRoots];
    this.compactRange = new CompactRange(sha256, { size, subtrees }, (index, root) => {
      this.tileRoots[index] = root;
    });
  }

  get size(): number {
    return this.compactRange.size;
  }

  root(): Uint8Array {
    return this.compactRange.root();
  }

  subtrees(): Uint8Array[] {
    return this.compactRange.subtrees();
  }

  /** Adds consecutive leaves. Those that it has are skipped, and after a gap nothing is added. */
  addLeaves(firstPosition: number, leafHashes: readonly Uint8Array[]): void {
    if (firstPosition > this.size + 1) return;
    for (let at = this.size + 1 - firstPosition; at < leafHashes.length; at += 1)
      this.compactRange.append(leafHashes[at] as Uint8Array);
  }
}
