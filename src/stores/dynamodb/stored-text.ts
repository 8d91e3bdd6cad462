import { createHash } from 'node:crypto';
import type { DynamodbBlobs } from './blobs.js';
import { type DynamoItem, S, textOf } from './keys.js';

/** An item holds 400 KB and a transaction 4 MB: longer texts are stored separately, and the item refers to them. */
const INLINE_BYTES_MAX = 100_000;

/** A text as stored in an item: under `name`, or by reference under `name_sha256`. */
export interface StoredText {
  readonly attributes: DynamoItem;
  /** Must be written before the item that refers to it. */
  readonly external: ExternalText | null;
}

export interface ExternalText {
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

export function toStoredText(name: string, value: unknown): StoredText {
  const text = JSON.stringify(value);
  if (Buffer.byteLength(text) <= INLINE_BYTES_MAX) return { attributes: { [name]: S(text) }, external: null };
  const bytes = Buffer.from(text);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { attributes: { [`${name}_sha256`]: S(sha256) }, external: { sha256, bytes } };
}

export async function readText(
  item: DynamoItem,
  name: string,
  blobs: DynamodbBlobs,
  tenantId: string,
): Promise<unknown> {
  const inline = item[name]?.S;
  if (inline !== undefined) return JSON.parse(inline);
  const sha256 = textOf(item[`${name}_sha256`]);
  const bytes = await blobs.get(tenantId, sha256);
  if (bytes === null)
    throw new Error(
      `The blob ${sha256} of ${tenantId}, for the field ${name}, is missing. Restore the table from a backup.`,
    );
  return JSON.parse(Buffer.from(bytes).toString('utf8'));
}
