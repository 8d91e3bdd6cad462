import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { Genesis } from '../client/index.js';
import { unwrapReply } from './replies.js';

/** A command's body is at most 1 MiB; what comes near to it goes by blob. */
const INLINE_BYTES_MAX = 768 * 1024;

export type ResultBody = { readonly result_data: unknown } | { readonly blob_sha256: string };

/** What was produced, as a submission carries it: JSON as it is, text as text, everything else by its hash. */
export async function resultBody(genesis: Genesis, bytes: Uint8Array): Promise<ResultBody> {
  if (bytes.byteLength > INLINE_BYTES_MAX || !isUtf8(bytes)) {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    unwrapReply(await genesis.putBlob(sha256, bytes));
    return { blob_sha256: sha256 };
  }
  const text = Buffer.from(bytes).toString('utf8');
  return { result_data: jsonOrText(text) };
}

/** JSON as it is; any other text as text. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
