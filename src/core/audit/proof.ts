import { z } from 'zod';
import { nonNegativeInteger } from '../events/fields.js';
import { readStrictJson } from '../strict-json.js';
import {
  bytes32,
  equalBytes,
  fromBase64url,
  type HashBytes,
  keyIdOf,
  toBase64url,
  utf8,
  type VerifySignature,
} from './audit-values.js';
import { type Anchor, anchorSchema, checkpointText } from './checkpoint.js';
import { isConsistent, leafHash, rootFromInclusion } from './merkle-tree.js';

export const INCLUSION_FORMAT = 'genesis-fleet inclusion proof 1';
export const CONSISTENCY_FORMAT = 'genesis-fleet consistency proof 1';

const PATH_MAX = 64;
const path = z.array(bytes32).max(PATH_MAX);
/** Half of a surrogate pair has no UTF-8 encoding: programs replace it or fail, so they would not hash the same bytes. */
const wellFormedText = z.string().refine((text) => !/\p{Cs}/u.test(text), 'expected well-formed Unicode');

export const inclusionProof = z.strictObject({
  format: z.literal(INCLUSION_FORMAT),
  checkpoint: anchorSchema,
  /** The text of the leaf (leaf.ts), as it was hashed. */
  leaf: wellFormedText,
  index: nonNegativeInteger,
  path,
  /** The JSON text of the event's payload. Without it, the proof says nothing about the content. */
  payload: wellFormedText.exactOptional(),
});
export const consistencyProof = z
  .strictObject({ format: z.literal(CONSISTENCY_FORMAT), from: anchorSchema, to: anchorSchema, path })
  .refine(({ from, to }) => from.tenant_id === to.tenant_id && from.project_id === to.project_id, {
    error: 'from and to are checkpoints of different projects',
  })
  .refine(({ from, to }) => from.position <= to.position && from.incarnation <= to.incarnation, {
    error: 'from is later than to',
  });
const anyProof = z.discriminatedUnion('format', [inclusionProof, consistencyProof]);

export type InclusionProof = z.infer<typeof inclusionProof>;
export type ConsistencyProof = z.infer<typeof consistencyProof>;

/** Stable codes, in the order of the checks: other checkers must give the same verdict. */
export type ProofFault =
  | 'MALFORMED'
  | 'KEY_ID_MISMATCH'
  | 'UNTRUSTED_KEY'
  | 'BAD_SIGNATURE'
  | 'LEAF_MISMATCH'
  | 'PAYLOAD_MISMATCH'
  | 'BAD_PATH';

export type ProofVerdict =
  | { readonly ok: true; readonly proof: InclusionProof | ConsistencyProof }
  | { readonly ok: false; readonly code: ProofFault; readonly detail: string };

export interface ProofChecks {
  readonly hash: HashBytes;
  readonly verify: VerifySignature;
  /**
   * The accepted keys, each by its id or as a whole public key. If omitted, every key is accepted, and the proof shows only
   * that the tree was signed.
   */
  readonly trustedKeys?: readonly string[];
}

type RefusedProof = Extract<ProofVerdict, { ok: false }>;
const refused = (code: ProofFault, detail: string): RefusedProof => ({ ok: false, code, detail });

/**
 * Checks the text of a proof. A text with a duplicate name in an object is malformed, because programs differ in which
 * value they use.
 */
export function checkProofText(text: string, checks: ProofChecks): ProofVerdict {
  const parsed = readStrictJson(text);
  return 'fault' in parsed ? refused('MALFORMED', parsed.fault) : checkProof(parsed.value, checks);
}

export function checkProof(proof: unknown, checks: ProofChecks): ProofVerdict {
  const parsed = anyProof.safeParse(proof);
  if (!parsed.success) return refused('MALFORMED', describeIssue(parsed.error));
  const fault =
    parsed.data.format === INCLUSION_FORMAT
      ? (anchorFault(parsed.data.checkpoint, checks) ?? inclusionFault(parsed.data, checks.hash))
      : (anchorFault(parsed.data.from, checks) ??
        anchorFault(parsed.data.to, checks) ??
        consistencyFault(parsed.data, checks.hash));
  return fault ?? { ok: true, proof: parsed.data };
}

export const describeIssue = ({ issues }: z.ZodError): string =>
  issues
    .slice(0, 1)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
    .join();

/** The fault of the checkpoint itself, apart from the proof; null if its key is accepted and signed it. */
export function anchorFault(anchor: Anchor, { hash, verify, trustedKeys }: ProofChecks): RefusedProof | null {
  const { key_id, public_key, signature } = anchor;
  if (keyIdOf(hash, public_key) !== key_id) {
    return refused('KEY_ID_MISMATCH', `${key_id} is not the id of the public key`);
  }
  if (trustedKeys !== undefined && !trustedKeys.includes(key_id) && !trustedKeys.includes(public_key)) {
    return refused('UNTRUSTED_KEY', `the key ${key_id} is not one of those you trust`);
  }
  return verify(public_key, checkpointText(anchor, anchor), signature)
    ? null
    : refused('BAD_SIGNATURE', `the key ${key_id} did not sign the checkpoint at ${anchor.position}`);
}

function inclusionFault(proof: InclusionProof, hash: HashBytes): RefusedProof | null {
  const { checkpoint, index, leaf, payload } = proof;
  const parsed = readStrictJson(leaf);
  const event = 'fault' in parsed ? null : (parsed.value as Record<string, unknown> | null);
  if (event?.tenant_id !== checkpoint.tenant_id || event.project_id !== checkpoint.project_id) {
    return refused('LEAF_MISMATCH', 'the leaf is not an event of the project of the checkpoint');
  }
  if (event.position !== index + 1) {
    return refused('LEAF_MISMATCH', `the leaf at index ${index} must be the event at position ${index + 1}`);
  }
  if (payload !== undefined && toBase64url(hash(utf8(payload))) !== event.payload_sha256) {
    return refused('PAYLOAD_MISMATCH', 'the digest of the payload differs from the digest in the leaf');
  }
  const leafBytes = leafHash(hash, utf8(leaf));
  const hashes = proof.path.map(fromBase64url);
  const root = rootFromInclusion(hash, { index, size: checkpoint.position, leaf: leafBytes, path: hashes });
  return root !== null && equalBytes(root, fromBase64url(checkpoint.root))
    ? null
    : refused('BAD_PATH', 'the path does not lead from the leaf to the root of the checkpoint');
}

function consistencyFault({ from, to, path }: ConsistencyProof, hash: HashBytes): RefusedProof | null {
  const claimedPath = {
    from: from.position,
    to: to.position,
    fromRoot: fromBase64url(from.root),
    toRoot: fromBase64url(to.root),
    path: path.map(fromBase64url),
  };
  return isConsistent(hash, claimedPath)
    ? null
    : refused('BAD_PATH', 'the path does not show that the later tree begins with the earlier one');
}
