import { isUtf8 } from 'node:buffer';
import type { Genesis } from '../../client/index.js';
import { isProblem } from '../../client/replies.js';
import { canonicalJson } from '../../core/canonical-json.js';
import type { TaskResult } from '../../core/contract/tasks.js';
import { failureWithCode } from '../exit.js';
import { jsonOrText } from '../json-or-text.js';
import { unwrapReply } from '../replies.js';

/** Maximum size of a result that is printed; larger results are only described. */
const SHOWN_BYTES_MAX = 1024 ** 2;

/** The content of a result as a person reads it, or why it cannot be shown. */
export type ShownContent = { readonly text: string } | { readonly described: string };

export async function shownContent(genesis: Genesis, result: TaskResult): Promise<ShownContent> {
  const { blob_sha256 } = result;
  if (blob_sha256 === null) return { text: readableText(inlineData(result)) };
  const bytes = await genesis.getBlob(blob_sha256, { bytes_max: SHOWN_BYTES_MAX });
  if (isProblem(bytes) && bytes.code === 'REPLY_TOO_LARGE')
    return { described: `larger than 1 MiB, SHA-256 ${blob_sha256}` };
  const content = Buffer.from(unwrapReply(bytes));
  if (!isUtf8(content) || content.includes(0))
    return { described: `binary, ${content.byteLength} bytes, SHA-256 ${blob_sha256}` };
  return { text: readableText(jsonOrText(content.toString('utf8'))) };
}

/** JSON is laid out in lines with sorted keys, so that two results can be compared line by line. */
const readableText = (data: unknown): string =>
  typeof data === 'string' ? data : `${JSON.stringify(JSON.parse(canonicalJson(data)), null, 2)}\n`;

/**
 * The bytes that `--output` writes: the blob as it is, or the data as canonical JSON. If the result is one JSON string, the
 * bytes are its text without quotation marks and escapes; then they are not the bytes that were hashed.
 */
export async function outputBytes(genesis: Genesis, result: TaskResult): Promise<Uint8Array> {
  const { blob_sha256 } = result;
  if (blob_sha256 === null) {
    const data = inlineData(result);
    return Buffer.from(typeof data === 'string' ? data : canonicalJson(data));
  }
  const bytes = Buffer.from(unwrapReply(await genesis.getBlob(blob_sha256)));
  // A text that was sent in a request has at most this length; its JSON begins with a quotation mark.
  const mayBeJsonString = bytes.byteLength <= 2 * SHOWN_BYTES_MAX && bytes[0] === 0x22 && isUtf8(bytes);
  const data = mayBeJsonString ? jsonOrText(bytes.toString('utf8')) : null;
  return typeof data === 'string' && canonicalJson(data) === bytes.toString('utf8')
    ? Buffer.from(data)
    : bytes;
}

function inlineData({ id, accepted, parked, result_data }: TaskResult): unknown {
  if (accepted || parked || result_data !== null) return result_data;
  throw failureWithCode(
    'NOT_KEPT',
    `The data of ${id} was not kept, because the result was refused and not parked.`,
  );
}
