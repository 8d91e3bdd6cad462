import { toBase64url } from './audit-values.js';
import { type Checkpoint, TILES_PER_CHECKPOINT_MAX } from './checkpoint.js';
import { TILE_SIZE } from './merkle-tree.js';

/**
 * The tiles that the checkpoints of a log must record: each once or more, without a gap, and as far as the checkpoint
 * covers. Two coordinators may list the same tile, when neither has seen the other's checkpoint.
 */
export class TileRecord {
  /** Roots of the tiles that no checkpoint lists yet, and of the last listed tiles. */
  private readonly roots = new Map<number, string>();
  private listed = 0;

  addTile(index: number, root: Uint8Array): void {
    this.roots.set(index, toBase64url(root));
  }

  /** The fault of the tiles of a checkpoint whose root is right; null if there is none. */
  faultOf({ position, tiles }: Checkpoint): string | null {
    const { first, roots } = tiles;
    const end = first + roots.length;
    const covered = Math.floor(position / TILE_SIZE);
    if (first > this.listed) return `tiles ${this.listed} to ${first - 1} are in no checkpoint`;
    if (roots.length > 0 && end > covered) return `tile ${end - 1} is not complete at ${position}`;
    if (end < covered && roots.length < TILES_PER_CHECKPOINT_MAX) return `tile ${end} is missing`;
    const wrong = roots.findIndex((root, at) => root !== (this.roots.get(first + at) ?? root));
    if (wrong >= 0) return `tile ${first + wrong} has another root`;
    this.list(end);
    return null;
  }

  private list(end: number): void {
    for (; this.listed < end; this.listed += 1) this.roots.delete(this.listed - TILES_PER_CHECKPOINT_MAX);
  }
}
