import { describe, expect, it } from 'vitest';
import {
  bytesHasher,
  CompactRange,
  consistencyPath,
  inclusionPath,
  isConsistent,
  rootFromInclusion,
  TILE_SIZE,
} from './merkle-tree.js';
import { numberedLeaves, seededRandom, testSha256 } from './testing/primitives.js';
import { rangeRootsFromTiles, subtreeRoot, tilesForConsistency, tilesForInclusion } from './tile-ranges.js';

const LEAVES = numberedLeaves(2000);
const TILE_ROOTS: Uint8Array[] = [];
const ROOTS = collectRootsAndTileRoots();

function collectRootsAndTileRoots(): Uint8Array[] {
  const compactRange = new CompactRange(bytesHasher(testSha256), undefined, (_, root) =>
    TILE_ROOTS.push(root),
  );
  return [
    compactRange.root(),
    ...LEAVES.map((leaf) => {
      compactRange.append(leaf);
      return compactRange.root();
    }),
  ];
}

/**
 * Ranges that know the leaves of these tiles only, up to the end of the tree. Further leaves would hide that a tile is
 * missing.
 */
const rangesWith = (tiles: readonly number[], size: number) => {
  const leavesIn = (tile: number) => LEAVES.slice(tile * TILE_SIZE, Math.min(size, (tile + 1) * TILE_SIZE));
  const leavesOfTile = new Map(tiles.map((tile) => [tile, leavesIn(tile)]));
  const tileRoots = TILE_ROOTS.slice(0, Math.floor(size / TILE_SIZE));
  return rangeRootsFromTiles({ hash: testSha256, tileRoots, leavesOfTile });
};

function checkInclusion(index: number, size: number): void {
  const tiles = tilesForInclusion(index, size);
  expect(tiles.length).toBeLessThanOrEqual(2);
  const path = inclusionPath(index, size, rangesWith(tiles, size));
  expect(rootFromInclusion(testSha256, { index, size, leaf: LEAVES[index]!, path })).toEqual(ROOTS[size]);
}

function checkConsistency(from: number, to: number): void {
  const tiles = tilesForConsistency(from, to);
  expect(tiles.length).toBeLessThanOrEqual(2);
  const path = consistencyPath(from, to, rangesWith(tiles, to));
  const statedProof = { from, to, fromRoot: ROOTS[from]!, toRoot: ROOTS[to]!, path };
  expect(isConsistent(testSha256, statedProof), `${from} to ${to}`).toBe(true);
}

describe('a proof from tiles', () => {
  it('needs the leaves of two tiles at most, at every boundary of a tile', () => {
    const boundarySizes = [1, 2, 255, 256, 257, 511, 512, 513, 767, 768, 769, 1023, 1024, 1025, 1537, 2000];
    for (const size of boundarySizes) {
      for (const from of boundarySizes) {
        if (from > size) continue;
        checkInclusion(from - 1, size);
        checkConsistency(from, size);
      }
    }
  });

  it('needs the leaves of two tiles at most, anywhere', () => {
    const random = seededRandom(2);
    for (let round = 0; round < 300; round += 1) {
      const size = 1 + Math.floor(random() * LEAVES.length);
      const from = 1 + Math.floor(random() * size);
      checkInclusion(from - 1, size);
      checkConsistency(from, size);
    }
  });

  it('names the leaves that are not loaded', () => {
    expect(() => inclusionPath(300, 600, rangesWith([1], 600))).toThrow(
      'the leaves 512 to 599 are not loaded',
    );
  });
});

it('the subtree root equals the root of a list of leaves', () => {
  for (const size of [1, 2, 3, 5, 256, 300])
    expect(subtreeRoot(testSha256, LEAVES.slice(0, size))).toEqual(ROOTS[size]);
});
