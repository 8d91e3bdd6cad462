import { hash } from 'node:crypto';
import type { HashBytes } from '../../core/audit/audit-values.js';
import type { TreeHasher } from '../../core/audit/merkle-tree.js';
import type { EventEnvelope } from '../../core/events/envelope.js';

// Hashing to a binary string and converting the string takes two thirds of the time of hashing to a buffer.
export const sha256: HashBytes = (data) => Buffer.from(hash('sha256', data, 'binary'), 'latin1');

/** The hash of a leaf, as a string with one character per byte. RFC 6962 puts a zero byte before the leaf's text. */
export const leafHashOf = (leaf: string): string => hash('sha256', `\0${leaf}`, 'binary');

export const binaryToBytes = (digest: string): Uint8Array => Buffer.from(digest, 'latin1');
export const bytesToBinary = (digest: Uint8Array): string => Buffer.from(digest).toString('latin1');

const DIGEST_BYTES = 32;
/** The text that is hashed for a node: a byte of value 1, as in RFC 6962, then two digests. Reused by every call. */
const nodeInput = Buffer.alloc(1 + 2 * DIGEST_BYTES, 1);

/**
 * Combines digests that are strings with one character per byte. It runs for every event, and strings take only two
 * thirds of the time that buffers take.
 */
export const binaryHasher: TreeHasher<string> = {
  emptyRoot: () => hash('sha256', '', 'binary'),
  nodeHash: (left, right) => {
    nodeInput.write(left + right, 1, 'latin1');
    return hash('sha256', nodeInput, 'binary');
  },
};

/** The digest of a payload, in the form that a leaf contains. */
export const payloadDigest = (payload: EventEnvelope['payload']): string =>
  hash('sha256', JSON.stringify(payload), 'base64url');
