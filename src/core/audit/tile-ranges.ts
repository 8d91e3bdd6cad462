import type { HashBytes } from './audit-values.js';
import { type HashOfRange, nodeHash, splitOf, TILE_SIZE } from './merkle-tree.js';

/**
 * What the roots of ranges are computed from: complete tiles and the leaves of at most two tiles. Loading leaves takes
 * time, so a proof is made in three steps: determine which tiles it needs (`tilesForInclusion`, `tilesForConsistency`),
 * load the hashes of their leaves, and compute the path with `rangeRootsFromTiles`.
 */
interface TileData {
  readonly hash: HashBytes;
  /** The root of each complete tile, by its index. */
  readonly tileRoots: readonly Uint8Array[];
  /** The hashes of the leaves of the requested tiles, up to the size of the tree. */
  readonly leavesOfTile: ReadonlyMap<number, readonly Uint8Array[]>;
}

const tileOf = (index: number): number => Math.floor(index / TILE_SIZE);
/** The tile that a tree of this size ends within; none if it ends with a complete one. */
const incompleteTile = (size: number): number[] => (size % TILE_SIZE === 0 ? [] : [tileOf(size)]);

/** The tiles whose leaves a proof for the leaf at `index` needs. */
export const tilesForInclusion = (index: number, size: number): number[] => [
  ...new Set([tileOf(index), ...incompleteTile(size)]),
];

/** The tiles whose leaves a proof from one size to another needs. */
export const tilesForConsistency = (from: number, to: number): number[] => [
  ...new Set([...incompleteTile(from), ...incompleteTile(to)]),
];

/**
 * Returns the function that computes the root of a range that a proof needs. Such a range is aligned to its size, except that
 * the last one ends with the tree.
 */
export function rangeRootsFromTiles({ hash, tileRoots, leavesOfTile }: TileData): HashOfRange {
  const rootOfRange: HashOfRange = (start, end) => {
    const size = end - start;
    if (size === TILE_SIZE) {
      const root = tileRoots[start / TILE_SIZE];
      if (root !== undefined) return root;
    }
    if (size <= TILE_SIZE) return subtreeRoot(hash, leavesIn(leavesOfTile, start, end));
    const middle = start + splitOf(size);
    return nodeHash(hash, rootOfRange(start, middle), rootOfRange(middle, end));
  };
  return rootOfRange;
}

function leavesIn(leavesOfTile: TileData['leavesOfTile'], start: number, end: number): readonly Uint8Array[] {
  const tile = tileOf(start);
  const first = tile * TILE_SIZE;
  const leaves = leavesOfTile.get(tile)?.slice(start - first, end - first);
  if (leaves?.length !== end - start) throw new Error(`the leaves ${start} to ${end - 1} are not loaded`);
  return leaves;
}

/** The root of a tree of one leaf or more. */
export function subtreeRoot(hash: HashBytes, leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 1) return leaves[0]!;
  const middle = splitOf(leaves.length);
  return nodeHash(hash, subtreeRoot(hash, leaves.slice(0, middle)), subtreeRoot(hash, leaves.slice(middle)));
}
