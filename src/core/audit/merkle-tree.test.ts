import { describe, expect, it } from 'vitest';
import { equalBytes } from './audit-values.js';
import {
  bytesHasher,
  CompactRange,
  consistencyPath,
  emptyRoot,
  type HashOfRange,
  inclusionPath,
  isConsistent,
  leafHash,
  nodeHash,
  rootFromInclusion,
} from './merkle-tree.js';
import { numberedLeaves, seededRandom, testSha256 } from './testing/primitives.js';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const fromHex = (text: string): Uint8Array => Buffer.from(text, 'hex');

/** The definition in RFC 6962, 2.1, word for word. */
function naiveRoot(leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return emptyRoot(testSha256);
  if (leaves.length === 1) return leaves[0]!;
  const split = 2 ** Math.floor(Math.log2(leaves.length - 1));
  return testSha256(
    Buffer.concat([[1], naiveRoot(leaves.slice(0, split)), naiveRoot(leaves.slice(split))].map(toBytes)),
  );
}
const toBytes = (bytes: Uint8Array | number[]): Uint8Array => Uint8Array.from(bytes);

function naivePath(index: number, leaves: readonly Uint8Array[]): Uint8Array[] {
  if (leaves.length === 1) return [];
  const split = 2 ** Math.floor(Math.log2(leaves.length - 1));
  return index < split
    ? [...naivePath(index, leaves.slice(0, split)), naiveRoot(leaves.slice(split))]
    : [...naivePath(index - split, leaves.slice(split)), naiveRoot(leaves.slice(0, split))];
}

function naiveProof(from: number, leaves: readonly Uint8Array[], isWhole = true): Uint8Array[] {
  if (from === leaves.length) return isWhole ? [] : [naiveRoot(leaves)];
  const split = 2 ** Math.floor(Math.log2(leaves.length - 1));
  return from <= split
    ? [...naiveProof(from, leaves.slice(0, split), isWhole), naiveRoot(leaves.slice(split))]
    : [...naiveProof(from - split, leaves.slice(split), false), naiveRoot(leaves.slice(0, split))];
}

const rangesOf = (leaves: readonly Uint8Array[]): HashOfRange => {
  const rootsByRange = new Map<string, Uint8Array>();
  return (start, end) => {
    const key = `${start}-${end}`;
    const root = rootsByRange.get(key) ?? naiveRoot(leaves.slice(start, end));
    rootsByRange.set(key, root);
    return root;
  };
};

function rootsOf(leaves: readonly Uint8Array[]): Uint8Array[] {
  const compactRange = new CompactRange(bytesHasher(testSha256));
  return [
    compactRange.root(),
    ...leaves.map((leaf) => {
      compactRange.append(leaf);
      return compactRange.root();
    }),
  ];
}

describe('the vectors of Certificate Transparency', () => {
  const LEAVES = [
    '',
    '00',
    '10',
    '2021',
    '3031',
    '40414243',
    '5051525354555657',
    '606162636465666768696a6b6c6d6e6f',
  ].map((text) => leafHash(testSha256, fromHex(text)));
  const ROOTS = [
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
    '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
    'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  ];
  const NODE_2 = '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7';
  const NODE_34 = '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e';
  const NODE_5678 = '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4';
  const NODE_5 = 'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b';
  const NODE_78 = 'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0';
  const NODE_56 = '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a';

  it('have these roots for 0 to 8 leaves', () => {
    expect(rootsOf(LEAVES).map(hex)).toEqual(ROOTS);
  });

  // The vectors count leaves from 1.
  it.each([
    [1, 1, []],
    [1, 8, [NODE_2, NODE_34, NODE_5678]],
    [6, 8, [NODE_5, NODE_78, ROOTS[4]]],
    [3, 3, [ROOTS[2]]],
    [2, 5, [ROOTS[1], NODE_34, NODE_5]],
  ])('have the path of leaf %i in a tree of %i', (leaf, size, expected) => {
    const path = inclusionPath(leaf - 1, size, rangesOf(LEAVES));
    expect(path.map(hex)).toEqual(expected);
    const root = rootFromInclusion(testSha256, { index: leaf - 1, size, leaf: LEAVES[leaf - 1]!, path });
    expect(root && hex(root)).toBe(ROOTS[size]);
  });

  it.each([
    [1, 1, []],
    [1, 8, [NODE_2, NODE_34, NODE_5678]],
    [6, 8, [NODE_56, NODE_78, ROOTS[4]]],
    [2, 5, [NODE_34, NODE_5]],
  ])('have the proof that %i leaves begin a tree of %i', (from, to, expected) => {
    const path = consistencyPath(from, to, rangesOf(LEAVES));
    expect(path.map(hex)).toEqual(expected);
    const [fromRoot, toRoot] = [fromHex(ROOTS[from]!), fromHex(ROOTS[to]!)];
    expect(isConsistent(testSha256, { from, to, fromRoot, toRoot, path })).toBe(true);
  });
});

describe('a tree', () => {
  const SIZE_MAX = 300;
  const leaves = numberedLeaves(SIZE_MAX);
  const roots = rootsOf(leaves);
  const ranges = rangesOf(leaves);

  it('has the roots of the definition', () => {
    for (let size = 0; size <= SIZE_MAX; size += 1)
      expect(roots[size]).toEqual(naiveRoot(leaves.slice(0, size)));
  });

  it('has the paths of the definition, which lead to its root, from every leaf', () => {
    for (let size = 1; size <= SIZE_MAX; size += 1) {
      for (let index = 0; index < size; index += 1) {
        const path = inclusionPath(index, size, ranges);
        const root = rootFromInclusion(testSha256, { index, size, leaf: leaves[index]!, path });
        if (root === null || !equalBytes(root, roots[size]!)) throw new Error(`leaf ${index} of ${size}`);
      }
    }
    for (const [index, size] of [
      [0, 1],
      [7, 13],
      [255, 300],
      [256, 300],
      [299, 300],
    ] as const) {
      expect(inclusionPath(index, size, ranges)).toEqual(naivePath(index, leaves.slice(0, size)));
    }
  });

  it('has a valid consistency proof from every smaller tree', () => {
    for (let to = 1; to <= SIZE_MAX; to += 1) {
      for (let from = 1; from <= to; from += 1) {
        const path = consistencyPath(from, to, ranges);
        const statedProof = { from, to, fromRoot: roots[from]!, toRoot: roots[to]!, path };
        if (!isConsistent(testSha256, statedProof)) throw new Error(`${from} to ${to}`);
      }
    }
    for (const [from, to] of [
      [1, 2],
      [7, 13],
      [8, 13],
      [255, 300],
      [256, 300],
    ] as const) {
      expect(consistencyPath(from, to, ranges)).toEqual(naiveProof(from, leaves.slice(0, to)));
    }
  });

  it('does not verify with a path that is longer, shorter or changed', () => {
    const random = seededRandom(1);
    for (let round = 0; round < 2000; round += 1) {
      const to = 2 + Math.floor(random() * (SIZE_MAX - 1));
      const from = 1 + Math.floor(random() * (to - 1));
      const index = Math.floor(random() * to);
      const proofsHold = (path: Uint8Array[], proof: Uint8Array[]): boolean[] => [
        equalBytes(
          rootFromInclusion(testSha256, { index, size: to, leaf: leaves[index]!, path }) ?? new Uint8Array(0),
          roots[to]!,
        ),
        isConsistent(testSha256, { from, to, fromRoot: roots[from]!, toRoot: roots[to]!, path: proof }),
      ];
      const path = inclusionPath(index, to, ranges);
      const proof = consistencyPath(from, to, ranges);
      const withOneChange = (list: Uint8Array[]): Uint8Array[] =>
        list.with(Math.floor(random() * list.length), testSha256(new Uint8Array(round)));
      expect(proofsHold(path, proof)).toEqual([true, true]);
      const shorter = { index, size: to, leaf: leaves[index]!, path: path.slice(0, -1) };
      expect(rootFromInclusion(testSha256, shorter)).toBe(null);
      expect(proofsHold([...path, roots[1]!], [...proof, roots[1]!])).toEqual([false, false]);
      expect(proofsHold(path.slice(1), proof.slice(1))).toEqual([false, false]);
      expect(proofsHold(path.slice(0, -1), proof.slice(0, -1))).toEqual([false, false]);
      expect(proofsHold(withOneChange(path), withOneChange(proof))).toEqual([false, false]);
    }
  });

  it('has a consistency proof from the empty tree, and none from a larger tree', () => {
    const [emptyTreeRoot, three, five] = [roots[0]!, roots[3]!, roots[5]!];
    const path: Uint8Array[] = [];
    expect(isConsistent(testSha256, { from: 0, to: 3, fromRoot: emptyTreeRoot, toRoot: three, path })).toBe(
      true,
    );
    expect(isConsistent(testSha256, { from: 0, to: 3, fromRoot: three, toRoot: three, path })).toBe(false);
    expect(isConsistent(testSha256, { from: 3, to: 3, fromRoot: three, toRoot: five, path })).toBe(false);
    expect(isConsistent(testSha256, { from: 5, to: 3, fromRoot: five, toRoot: three, path })).toBe(false);
  });
});

describe('a compact range', () => {
  it('continues from its subtrees, at every size', () => {
    const leaves = numberedLeaves(70);
    const roots = rootsOf(leaves);
    for (let size = 0; size < leaves.length; size += 1) {
      const first = new CompactRange(bytesHasher(testSha256));
      for (const leaf of leaves.slice(0, size)) first.append(leaf);
      const second = new CompactRange(bytesHasher(testSha256), { size, subtrees: first.subtrees() });
      for (const leaf of leaves.slice(size)) second.append(leaf);
      expect(second.root()).toEqual(roots[leaves.length]);
      expect(first.root()).toEqual(roots[size]);
    }
  });

  it('reports each completed tile once', () => {
    const leaves = numberedLeaves(1025);
    const tiles: [number, Uint8Array][] = [];
    const compactRange = new CompactRange(bytesHasher(testSha256), undefined, (index, root) =>
      tiles.push([index, root]),
    );
    for (const leaf of leaves) compactRange.append(leaf);
    expect(tiles).toEqual(
      [0, 1, 2, 3].map((tile) => [tile, naiveRoot(leaves.slice(tile * 256, tile * 256 + 256))]),
    );
  });

  it('takes less than one node hash per leaf on average', () => {
    let calls = 0;
    const countingHash = (data: Uint8Array): Uint8Array => {
      calls += 1;
      return testSha256(data);
    };
    const compactRange = new CompactRange(bytesHasher(countingHash));
    for (const leaf of numberedLeaves(1000)) compactRange.append(leaf);
    expect(calls).toBeLessThan(1000);
  });

  it('counts beyond 32 bits', () => {
    const size = 2 ** 40 + 3;
    const compactRange = new CompactRange(bytesHasher(testSha256), { size, subtrees: numberedLeaves(3) });
    compactRange.append(testSha256(new Uint8Array(1)));
    expect([compactRange.size, compactRange.subtrees().length]).toEqual([2 ** 40 + 4, 2]);
  });

  it('refuses subtrees that do not make up the size', () => {
    expect(() => new CompactRange(bytesHasher(testSha256), { size: 6, subtrees: numberedLeaves(3) })).toThrow(
      '6 leaves',
    );
  });
});

it('hashes a leaf of any length, and never as a node', () => {
  const [left, right] = [testSha256(new Uint8Array(1)), testSha256(new Uint8Array(2))];
  expect(leafHash(testSha256, Buffer.concat([left, right]))).not.toEqual(nodeHash(testSha256, left, right));
  for (const length of [2047, 2048, 5000, 3, 100_000]) {
    const text = new Uint8Array(length).fill(7);
    expect(leafHash(testSha256, text)).toEqual(testSha256(Buffer.concat([Buffer.from([0]), text])));
  }
});
