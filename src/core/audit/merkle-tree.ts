import { equalBytes, type HashBytes } from './audit-values.js';

/** Leaves per tile. A tile is a complete subtree whose root is kept, so that a proof reads the leaves of at most two tiles. */
export const TILE_SIZE = 256;
const TILE_LEVEL = 8;
const HASH_LENGTH = 32;

/** The prefixes of RFC 6962: no text of a leaf can pass as an inner node. */
const LEAF_PREFIX = 0;
const NODE_PREFIX = 1;

/** Reused by all calls: a new buffer for each hash would be slow. The hash function reads the buffer before it returns. */
const nodeInput = new Uint8Array(1 + 2 * HASH_LENGTH);
nodeInput[0] = NODE_PREFIX;
let leafInput = new Uint8Array(2048);
leafInput[0] = LEAF_PREFIX;

export function leafHash(hash: HashBytes, text: Uint8Array): Uint8Array {
  if (text.length >= leafInput.length) {
    leafInput = new Uint8Array(2 * text.length + 1);
    leafInput[0] = LEAF_PREFIX;
  }
  leafInput.set(text, 1);
  return hash(leafInput.subarray(0, text.length + 1));
}

export function nodeHash(hash: HashBytes, left: Uint8Array, right: Uint8Array): Uint8Array {
  nodeInput.set(left, 1);
  nodeInput.set(right, 1 + HASH_LENGTH);
  return hash(nodeInput);
}

export const emptyRoot = (hash: HashBytes): Uint8Array => hash(new Uint8Array(0));

/** The hashes of the complete subtrees of a tree, largest first: one for each bit that is set in its size. */
export interface CompactRangeState<Digest = Uint8Array> {
  readonly size: number;
  readonly subtrees: readonly Digest[];
}

export type OnTile<Digest = Uint8Array> = (index: number, root: Digest) => void;

/** Combines digests of any representation. */
export interface TreeHasher<Digest> {
  emptyRoot(): Digest;
  nodeHash(left: Digest, right: Digest): Digest;
}

/** Combines digests that are bytes. */
export const bytesHasher = (hash: HashBytes): TreeHasher<Uint8Array> => ({
  emptyRoot: () => emptyRoot(hash),
  nodeHash: (left, right) => nodeHash(hash, left, right),
});

/** The roots of the complete subtrees of a growing tree (compact range): all that appending needs, `log2 n + 1` at most. */
export class CompactRange<Digest = Uint8Array> {
  private count: number;
  private readonly stack: Digest[];

  constructor(
    private readonly hasher: TreeHasher<Digest>,
    state: CompactRangeState<Digest> = { size: 0, subtrees: [] },
    private readonly onTile?: OnTile<Digest>,
  ) {
    if (state.subtrees.length !== countSetBits(state.size)) {
      throw new Error(
        `a tree of ${state.size} leaves does not have ${state.subtrees.length} complete subtrees`,
      );
    }
    this.count = state.size;
    this.stack = [...state.subtrees];
  }

  get size(): number {
    return this.count;
  }

  /**
   * Appends a leaf. For each trailing 1 bit of the size, the last subtree is as large as the new one, so the two are
   * combined.
   */
  append(leaf: Digest): void {
    let node = leaf;
    let level = 0;
    for (let bits = this.count; bits % 2 === 1; bits = (bits - 1) / 2) {
      node = this.hasher.nodeHash(this.stack.pop()!, node);
      level += 1;
      if (level === TILE_LEVEL) this.onTile?.((this.count + 1) / TILE_SIZE - 1, node);
    }
    this.stack.push(node);
    this.count += 1;
  }

  subtrees(): Digest[] {
    return [...this.stack];
  }

  root(): Digest {
    let root = this.stack.at(-1);
    if (root === undefined) return this.hasher.emptyRoot();
    for (let at = this.stack.length - 2; at >= 0; at -= 1) root = this.hasher.nodeHash(this.stack[at]!, root);
    return root;
  }
}

/** Sizes can exceed 32 bits, so this function and those below use no bit operators. */
function countSetBits(size: number): number {
  let count = 0;
  for (let bits = size; bits > 0; bits = half(bits)) count += bits % 2;
  return count;
}

const half = (size: number): number => Math.floor(size / 2);

/** The root of the leaves from `start` up to but not including `end`. */
export type HashOfRange = (start: number, end: number) => Uint8Array;

/** Where RFC 6962 splits a tree of more than one leaf: at the largest power of two smaller than its size. */
export function splitOf(size: number): number {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
}

/** The hashes that lead from the leaf at `index` to the root of a tree of `size` leaves, the nearest first. */
export function inclusionPath(index: number, size: number, hashOfRange: HashOfRange): Uint8Array[] {
  const path: Uint8Array[] = [];
  let start = 0;
  let end = size;
  while (end - start > 1) {
    const middle = start + splitOf(end - start);
    if (index < middle) {
      path.push(hashOfRange(middle, end));
      end = middle;
    } else {
      path.push(hashOfRange(start, middle));
      start = middle;
    }
  }
  return path.reverse();
}

/** The hashes that show that the tree of `to` leaves begins with the leaves of the tree of `from`. */
export function consistencyPath(from: number, to: number, hashOfRange: HashOfRange): Uint8Array[] {
  if (from === 0 || from === to) return [];
  const path: Uint8Array[] = [];
  let start = 0;
  let end = to;
  // Descends to the largest subtree that ends where the smaller tree ends.
  while (end !== from) {
    const middle = start + splitOf(end - start);
    if (from <= middle) {
      path.push(hashOfRange(middle, end));
      end = middle;
    } else {
      path.push(hashOfRange(start, middle));
      start = middle;
    }
  }
  // If the subtree starts at 0, it is the smaller tree itself, whose root the checker has.
  if (start > 0) path.push(hashOfRange(start, end));
  return path.reverse();
}

interface InclusionPath {
  readonly index: number;
  readonly size: number;
  readonly leaf: Uint8Array;
  readonly path: readonly Uint8Array[];
}

/** The root that the path leads to; null if the index or the length of the path does not fit. As in RFC 9162, 2.1.3.2. */
export function rootFromInclusion(
  hash: HashBytes,
  { index, size, leaf, path }: InclusionPath,
): Uint8Array | null {
  if (index < 0 || index >= size) return null;
  let root = leaf;
  let node = index;
  let lastNode = size - 1;
  for (const sibling of path) {
    if (lastNode === 0) return null;
    if (node % 2 === 1 || node === lastNode) {
      root = nodeHash(hash, sibling, root);
      // At the right edge of the tree: skips levels at which the node has no sibling.
      while (node % 2 === 0 && node > 0) [node, lastNode] = [half(node), half(lastNode)];
    } else root = nodeHash(hash, root, sibling);
    [node, lastNode] = [half(node), half(lastNode)];
  }
  return lastNode === 0 ? root : null;
}

interface ConsistencyPath {
  readonly from: number;
  readonly to: number;
  readonly fromRoot: Uint8Array;
  readonly toRoot: Uint8Array;
  readonly path: readonly Uint8Array[];
}

/** Whether the path leads to both roots, so that the larger tree begins with the smaller one. As in RFC 9162, 2.1.4.2. */
export function isConsistent(
  hash: HashBytes,
  { from, to, fromRoot, toRoot, path }: ConsistencyPath,
): boolean {
  if (from > to || from < 0) return false;
  if (from === to) return path.length === 0 && equalBytes(fromRoot, toRoot);
  if (from === 0) return path.length === 0 && equalBytes(fromRoot, emptyRoot(hash));
  let node = from - 1;
  let lastNode = to - 1;
  while (node % 2 === 1) [node, lastNode] = [half(node), half(lastNode)];
  // If the size of the smaller tree is a power of two, the path leaves out its root, which comes first.
  const [firstHash, ...siblings] = node === 0 ? [fromRoot, ...path] : path;
  if (firstHash === undefined) return false;
  let fromHash = firstHash;
  let toHash = firstHash;
  for (const sibling of siblings) {
    if (lastNode === 0) return false;
    if (node % 2 === 1 || node === lastNode) {
      fromHash = nodeHash(hash, sibling, fromHash);
      toHash = nodeHash(hash, sibling, toHash);
      while (node % 2 === 0 && node > 0) [node, lastNode] = [half(node), half(lastNode)];
    } else toHash = nodeHash(hash, toHash, sibling);
    [node, lastNode] = [half(node), half(lastNode)];
  }
  return lastNode === 0 && equalBytes(fromHash, fromRoot) && equalBytes(toHash, toRoot);
}
