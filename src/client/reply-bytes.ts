import type { Problem } from './replies.js';

/** No reply of ours comes near to it: a page has at most a thousand entries. */
export const JSON_BYTES_MAX = 64 * 1024 * 1024;
/** The largest that a tenant's limit for a result can be. */
export const BLOB_BYTES_MAX = 1024 ** 3;
/** One event of a feed: a command has at most 1 MiB. */
export const FRAME_CHARS_MAX = 4 * 1024 * 1024;

/** Whoever sends more is no server of ours, and shall not fill our memory. */
export class ReplyTooLarge extends Error {
  override readonly name = 'ReplyTooLarge';

  constructor(
    private readonly status: number,
    private readonly bytesMax: number,
  ) {
    super('the reply is too large');
  }

  get problem(): Problem {
    const detail = `The reply has more than ${this.bytesMax} bytes and was not read to its end. Is this address a coordinator's?`;
    return { code: 'REPLY_TOO_LARGE', detail, status: this.status };
  }
}

/** The body of a reply, whole, and not beyond its bound. */
export async function bytesOf(response: Response, bytesMax: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early ends the connection.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > bytesMax) throw new ReplyTooLarge(response.status, bytesMax);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export const jsonOf = async (response: Response): Promise<unknown> =>
  JSON.parse((await bytesOf(response, JSON_BYTES_MAX)).toString('utf8'));
