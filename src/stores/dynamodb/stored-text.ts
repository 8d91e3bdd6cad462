import { createHash } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { DynamodbBlobs } from './blobs.js';
import { type DynamoItem, S, textOf } from './keys.js';

/** DynamoDB limits an item to 400 KB and a transaction to 4 MB. A text longer than this is a blob of its own. */
const INLINE_BYTES_MAX = 100_000;

/** DynamoDB charges writes by the kilobyte: a text with which an item would exceed one kilobyte is compressed. */
const UNCOMPRESSED_BYTES_MAX = 800;

/** A text as stored in an item: under `name`, perhaps compressed, or by reference under `name_sha256`. */
interface StoredText {
  readonly attributes: DynamoItem;
  /** Must be written before the item that refers to it. */
  readonly external: ExternalText | null;
}

export interface ExternalText {
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

export function toStoredText(name: string, text: string): StoredText {
  const bytes = Buffer.from(text);
  if (bytes.byteLength > INLINE_BYTES_MAX) {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    return { attributes: { [`${name}_sha256`]: S(sha256) }, external: { sha256, bytes } };
  }
  const isShort = bytes.byteLength <= UNCOMPRESSED_BYTES_MAX;
  return { attributes: { [name]: isShort ? S(text) : { B: deflateRawSync(bytes) } }, external: null };
}

export async function readText(
  item: DynamoItem,
  name: string,
  blobs: DynamodbBlobs,
  tenantId: string,
): Promise<string> {
  const { S: inline, B: compressed } = item[name] ?? {};
  if (inline !== undefined) return inline;
  if (compressed !== undefined) return inflateRawSync(compressed).toString('utf8');
  const sha256 = textOf(item[`${name}_sha256`]);
  const bytes = await blobs.get(tenantId, sha256);
  if (bytes === null)
    throw new Error(
      `The blob ${sha256} of ${tenantId}, for the field ${name}, is missing. Restore the table from a backup.`,
    );
  return Buffer.from(bytes).toString('utf8');
}
