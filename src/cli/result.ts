import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { Genesis } from '../client/index.js';
import { jsonOrText } from './json-or-text.js';
import { unwrapReply } from './replies.js';

/** Maximum size of a result in a request, whose body has at most 1 MiB. Larger results are uploaded as blobs. */
const INLINE_BYTES_MAX = 768 * 1024;

export type ResultBody = { readonly result_data: unknown } | { readonly blob_sha256: string };

/** The result fields of a submission: JSON or text inline. Other and larger results are uploaded as a blob first. */
export const resultBody = async (genesis: Genesis, bytes: Uint8Array): Promise<ResultBody> =>
  bytes.byteLength > INLINE_BYTES_MAX || !isUtf8(bytes)
    ? uploadBlob(genesis, bytes)
    : { result_data: jsonOrText(Buffer.from(bytes).toString('utf8')) };

export async function uploadBlob(genesis: Genesis, bytes: Uint8Array) {
  const blob_sha256 = createHash('sha256').update(bytes).digest('hex');
  unwrapReply(await genesis.putBlob(blob_sha256, bytes));
  return { blob_sha256 };
}
