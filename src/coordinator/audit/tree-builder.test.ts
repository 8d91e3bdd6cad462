import { describe, expect, it } from 'vitest';
import { bytesHasher, CompactRange } from '../../core/audit/merkle-tree.js';
import { binaryToBytes, leafHashOf, sha256 } from './audit-hash.js';
import { TreeBuilder } from './tree-builder.js';

const EMPTY = { size: 0, subtrees: [], tileRoots: [] };
const LEAVES = Array.from({ length: 20_000 }, (_, at) => leafHashOf(`leaf ${at + 1}`));
const leavesOf = (from: number, to: number): string[] => LEAVES.slice(from - 1, to);

function rootOf(size: number): Uint8Array {
  const tree = new CompactRange(bytesHasher(sha256));
  for (const leaf of leavesOf(1, size)) tree.append(binaryToBytes(leaf));
  return tree.root();
}

describe('the audit tree of a project', () => {
  it('skips leaves that it already has', () => {
    const tree = new TreeBuilder(EMPTY);
    tree.addLeaves(1, leavesOf(1, 5));
    tree.addLeaves(3, leavesOf(3, 7));
    expect(tree.size).toBe(7);
    expect(tree.root()).toEqual(rootOf(7));
  });

  it('adds leaves that come after a gap as soon as the gap is filled', () => {
    const tree = new TreeBuilder(EMPTY);
    tree.addLeaves(4, leavesOf(4, 6));
    tree.addLeaves(7, leavesOf(7, 9));
    expect(tree.size).toBe(0);
    expect(tree.waitingFrom).toBe(4);
    for (let position = 1; position <= 3; position += 1)
      tree.addLeaves(position, leavesOf(position, position));
    expect(tree.size).toBe(9);
    expect(tree.waitingFrom).toBeNull();
    expect(tree.root()).toEqual(rootOf(9));
  });

  it('keeps a bounded number of leaves after a gap', () => {
    const tree = new TreeBuilder(EMPTY);
    for (let first = 2; first < 18_000; first += 1000) tree.addLeaves(first, leavesOf(first, first + 999));
    expect(tree.waitingFrom).toBe(17_002);
    tree.addLeaves(1, leavesOf(1, 17_001));
    expect(tree.root()).toEqual(rootOf(18_001));
  });

  it('continues from the subtrees of another builder', () => {
    const first = new TreeBuilder(EMPTY);
    first.addLeaves(1, leavesOf(1, 600));
    const second = new TreeBuilder({ size: 600, subtrees: first.subtrees(), tileRoots: first.tileRoots });
    second.addLeaves(601, leavesOf(601, 1000));
    expect(second.root()).toEqual(rootOf(1000));
    expect(second.tileRoots).toHaveLength(3);
  });
});
