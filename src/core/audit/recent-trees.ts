import type { HashBytes } from './audit-values.js';
import { bytesHasher, CompactRange, type CompactRangeState, type OnTile, TILE_SIZE } from './merkle-tree.js';

const TILES_KEPT = 256;
/** The number of events by which a checkpoint may lie behind the end of the log and still be compared. */
export const CHECKPOINT_LAG_MAX = (TILES_KEPT - 1) * TILE_SIZE;

interface TileStart extends CompactRangeState {
  readonly leaves: Uint8Array[];
}

/**
 * A growing tree that can also return its recent states. A checkpoint covers a position before its own, so the tree has
 * grown further by the time the checkpoint is read. Keeps the leaves of the last tiles and the compact range before each
 * tile: 2 MB.
 */
export class RecentTrees {
  private readonly compactRange: CompactRange;
  private tiles: TileStart[] = [{ size: 0, subtrees: [], leaves: [] }];

  constructor(
    private readonly hash: HashBytes,
    onTile: OnTile,
  ) {
    this.compactRange = new CompactRange(bytesHasher(hash), undefined, onTile);
  }

  get size(): number {
    return this.compactRange.size;
  }

  root(): Uint8Array {
    return this.compactRange.root();
  }

  append(leaf: Uint8Array): void {
    this.compactRange.append(leaf);
    this.tiles.at(-1)!.leaves.push(leaf);
    const { size } = this.compactRange;
    if (size % TILE_SIZE !== 0) return;
    this.tiles.push({ size, subtrees: this.compactRange.subtrees(), leaves: [] });
    if (this.tiles.length > TILES_KEPT) this.tiles.shift();
  }

  /** The tree when it had this size; null if it grew past this size too long ago, or is still smaller. */
  treeOfSize(size: number): CompactRange | null {
    const index = Math.floor((size - this.tiles[0]!.size) / TILE_SIZE);
    const tile = this.tiles[index];
    if (tile === undefined || size > this.size) return null;
    const tree = new CompactRange(bytesHasher(this.hash), tile);
    for (const leaf of tile.leaves.slice(0, size - tile.size)) tree.append(leaf);
    return tree;
  }
}
