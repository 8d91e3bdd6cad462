import { GenesisError } from './replies.js';

/** Far above any genuine reply: a page has at most a thousand entries. */
const JSON_BYTES_MAX = 64 * 1024 * 1024;
/** The largest result size that a tenant's limits allow. */
export const REPLY_BLOB_BYTES_MAX = 1024 ** 3;
/** The limit for one event of a stream; a command has at most 1 MiB. */
export const FRAME_CHARS_MAX = 4 * 1024 * 1024;

/**
 * The error for a reply over the size limit, which must not fill the memory. Unless the caller has set a lower limit, such a
 * reply is not from a Genesis server.
 */
export function replyTooLargeError(status: number, limitText: string): GenesisError {
  const detail = `The reply exceeds ${limitText}. Check that GENESIS_URL is the address of a coordinator.`;
  return new GenesisError({ code: 'REPLY_TOO_LARGE', detail, status });
}

/** Reads a reply's whole body. Throws if it exceeds the limit. */
export async function bytesOf(response: Response, bytesMax: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  // Leaving the loop early closes the connection.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > bytesMax) throw replyTooLargeError(response.status, `${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export const jsonOf = async (response: Response): Promise<unknown> =>
  JSON.parse((await bytesOf(response, JSON_BYTES_MAX)).toString('utf8'));
