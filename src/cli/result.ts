import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { Genesis } from '../client/index.js';
import { unwrapReply } from './replies.js';

/** A request body is at most 1 MiB; larger results go by blob. */
const INLINE_BYTES_MAX = 768 * 1024;

export type ResultBody = { readonly result_data: unknown } | { readonly blob_sha256: string };

/** The result fields of a submission: JSON or text inline, everything else as a blob. */
export async function resultBody(genesis: Genesis, bytes: Uint8Array): Promise<ResultBody> {
  if (bytes.byteLength > INLINE_BYTES_MAX || !isUtf8(bytes)) {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    unwrapReply(await genesis.putBlob(sha256, bytes));
    return { blob_sha256: sha256 };
  }
  const text = Buffer.from(bytes).toString('utf8');
  return { result_data: jsonOrText(text) };
}

/** Parses JSON; returns any other text unchanged. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
