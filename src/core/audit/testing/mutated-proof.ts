import type { Anchor } from '../checkpoint.js';
import { checkpointText } from '../checkpoint.js';
import type { ConsistencyProof, InclusionProof } from '../proof.js';
import type { AuditedLog } from './audited-log.js';
import type { TestSigner } from './primitives.js';

type AnyProof = InclusionProof | ConsistencyProof;
type Members = Record<string, unknown>;
type Random = () => number;

interface MutationContext {
  readonly log: AuditedLog;
  /** A key that signed none of the proofs. */
  readonly other: TestSigner;
}

const pick = <Item>(items: readonly Item[], random: Random): Item =>
  items[Math.floor(random() * items.length)]!;

/** Characters that mean something in JSON, in base64url, in a number, or that not all programs encode alike. */
const CHARACTERS = [...'AZaz059-_.:,"\\{}[] \n\t\0é', '\ud800', '😀', '１', '\u2028'];

function changedText(text: string, random: Random): string {
  const at = Math.floor(random() * text.length);
  const suffix = text.slice(at + 1);
  const changed = `${text.slice(0, at)}${pick([...CHARACTERS, ''], random)}${suffix}`;
  return changed === text ? `${text}A` : changed;
}

function changedValue(value: unknown, random: Random): unknown {
  if (typeof value === 'string') {
    if (random() < 0.6) return changedText(value, random);
    return pick([`${value}\n`, `${value}A`, null, 7, [value], value.slice(1)], random);
  }
  if (typeof value === 'number')
    return pick([value + 1, value - 1, -value - 1, value + 0.5, `${value}`, 2 ** 53, true], random);
  if (!Array.isArray(value)) return pick([null, [], 'x', 0], random);
  const items = value as unknown[];
  if (items.length === 0) return ['A'.repeat(43)];
  const at = Math.floor(random() * items.length);
  const swapped = items.length > 1 ? items.toReversed() : [];
  const longer = [
    items.toSpliced(at, 0, items[at]),
    items.toSpliced(at, 1),
    [...items, ...items],
    Array(65).fill(items[0]),
  ];
  return pick([items.with(at, changedValue(items[at], random)), swapped, ...longer], random);
}

/** Changes one field, at any depth. */
function changeField(members: Members, random: Random): void {
  const name = pick(Object.keys(members), random);
  const value = members[name];
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    changeField(value as Members, random);
  else members[name] = changedValue(value, random);
}

function removeField(members: Members, random: Random): void {
  const name = pick(
    Object.keys(members).filter((key) => key !== 'payload'),
    random,
  );
  const value = members[name];
  if (typeof value === 'object' && !Array.isArray(value) && random() < 0.8)
    removeField(value as Members, random);
  else delete members[name];
}

const anchorsOf = (proof: AnyProof): Anchor[] =>
  'from' in proof ? [proof.from, proof.to] : [proof.checkpoint];

/** Replaces the statement of a checkpoint and signs it with the right key, so that only the tree is wrong. */
function signAgain(proof: AnyProof, { log }: MutationContext, random: Random): void {
  const anchor = pick(anchorsOf(proof), random);
  const change = pick(
    [
      { root: `${anchor.root.slice(1)}A` },
      { position: anchor.position + pick([1, 2, 8, 1000], random), root: `${anchor.root.slice(1)}A` },
      { project_id: 'other', root: `${anchor.root.slice(1)}A` },
      { root: log.buildAnchor(pick([4, 9, 100], random)).root },
    ],
    random,
  );
  Object.assign(anchor, change);
  anchor.signature = log.signer.sign(checkpointText(anchor, anchor));
}

function useOtherKey(proof: AnyProof, { other }: MutationContext, random: Random): void {
  const { key_id, public_key } = other;
  Object.assign(
    pick(anchorsOf(proof), random),
    pick([{ key_id }, { public_key }, { key_id, public_key }], random),
  );
}

function changeLeaf(proof: AnyProof, random: Random): void {
  if (!('leaf' in proof)) {
    changeField(proof as Members, random);
    return;
  }
  const { leaf } = proof;
  const leaves = [
    changedText(leaf, random),
    leaf.replace('acme', 'acne'),
    `${leaf} `,
    leaf.replace(/"position":\d+/, '"position":1.5'),
  ];
  proof.leaf = pick(
    [...leaves, leaf.replace('{', '{"position":1,'), leaf.replace('"alpha"', 'true'), 'null', '[1]'],
    random,
  );
}

/** Changes the text itself: numbers in other spellings, names twice, values that are not JSON. */
function changedProofText(text: string, random: Random): string {
  const position = /"position":\d+/;
  return pick(
    [
      text.slice(0, -1),
      `${text}}`,
      `\ufeff${text}`,
      text.replace('{', '{"format":"x",'),
      text.replace(position, '"position":NaN'),
      text.replace(position, '"position":-Infinity'),
      text.replace(position, '"position":1e999'),
      text.replace(position, `"position":${'9'.repeat(5000)}`),
      text.replace(position, '"position":007'),
      text.replace(position, '"position":12345e0'),
      text.replace(position, '"position":9007199254740993'),
      text.replace('"path":[', '"path":[,'),
      `${'['.repeat(5000)}${']'.repeat(5000)}`,
    ],
    random,
  );
}

/** The text of a proof with one mutation. The mutation depends on `caseIndex`, so that all occur equally often. */
export function mutatedProof(
  proofs: readonly AnyProof[],
  caseIndex: number,
  random: Random,
  context: MutationContext,
): string {
  const original = pick(proofs, random);
  const proof = structuredClone(original);
  const mutations = [
    () => changeField(proof as Members, random),
    () => changeField(proof as Members, random),
    () => changeLeaf(proof, random),
    () => removeField(proof as Members, random),
    () => useOtherKey(proof, context, random),
    () => signAgain(proof, context, random),
    () => Object.assign(proof, { path: pick(proofs, random).path }),
    () => Object.assign(proof, { [pick(['other', 'payload', 'constructor', '__proto__ '], random)]: '{}' }),
  ];
  const mutation = mutations[caseIndex % (mutations.length + 1)];
  mutation?.();
  const text = JSON.stringify(proof);
  // One case in nine has no mutation, and some mutations change nothing, such as an equal path from another proof.
  return text === JSON.stringify(original) ? changedProofText(text, random) : text;
}
