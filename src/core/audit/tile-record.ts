import { toBase64url } from './audit-values.js';
import { type Checkpoint, TILES_PER_CHECKPOINT_MAX } from './checkpoint.js';
import { TILE_SIZE } from './merkle-tree.js';

/** Explains, in a message, what a tile is. */
const ABOUT_TILES = `(${TILE_SIZE} consecutive events per tile)`;

/**
 * The tiles that the checkpoints of a log must record: each tile once or more, without a gap, and as far as the checkpoint
 * covers. Two coordinators may list the same tile if neither has seen the other's checkpoint.
 */
export class TileRecord {
  /** Roots of the tiles that no checkpoint lists yet, and of the last listed tiles. */
  private readonly roots = new Map<number, string>();
  private listedCount = 0;

  addTile(index: number, root: Uint8Array): void {
    this.roots.set(index, toBase64url(root));
  }

  /** The fault of the tiles of a checkpoint whose root is right; null if there is none. */
  faultOf({ position, tiles }: Checkpoint): string | null {
    const { first, roots } = tiles;
    const end = first + roots.length;
    const coveredCount = Math.floor(position / TILE_SIZE);
    if (first > this.listedCount)
      return `no checkpoint lists the tiles ${this.listedCount} to ${first - 1} ${ABOUT_TILES}`;
    if (roots.length > 0 && end > coveredCount)
      return `tile ${end - 1} ${ABOUT_TILES} is not complete at position ${position}`;
    if (end < coveredCount && roots.length < TILES_PER_CHECKPOINT_MAX)
      return `the checkpoint does not list tile ${end} ${ABOUT_TILES}`;
    const wrongIndex = roots.findIndex((root, at) => root !== (this.roots.get(first + at) ?? root));
    if (wrongIndex >= 0)
      return `the checkpoint lists another root for tile ${first + wrongIndex} ${ABOUT_TILES} than the log has`;
    this.markListed(end);
    return null;
  }

  private markListed(end: number): void {
    for (; this.listedCount < end; this.listedCount += 1)
      this.roots.delete(this.listedCount - TILES_PER_CHECKPOINT_MAX);
  }
}
