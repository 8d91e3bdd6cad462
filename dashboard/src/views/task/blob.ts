import { CallFailure, send } from '../../api/call.js';

/** Browsers need seconds to show more text. The whole blob can be downloaded. */
const TEXT_BYTES_MAX = 256 * 1024;

export type BlobText =
  | { readonly kind: 'text'; readonly text: string; readonly isCut: boolean }
  | { readonly kind: 'binary' };

/** The start of a blob as text. Reads only the part that is shown. */
export async function readBlobText(sha256: string): Promise<BlobText> {
  const response = await requestBlob(sha256);
  const reader = response.body?.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  while (reader !== undefined && size <= TEXT_BYTES_MAX) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
  }
  await reader?.cancel();
  return textOf(await new Blob(parts as BlobPart[]).arrayBuffer());
}

function textOf(bytes: ArrayBuffer): BlobText {
  const isCut = bytes.byteLength > TEXT_BYTES_MAX;
  try {
    // With `stream`, a character that is cut at the end is not an error.
    const decoder = new TextDecoder('utf-8', { fatal: true });
    const text = decoder.decode(bytes.slice(0, TEXT_BYTES_MAX), { stream: isCut });
    return text.includes('\0') ? { kind: 'binary' } : { kind: 'text', text, isCut };
  } catch {
    return { kind: 'binary' };
  }
}

/** Downloads a blob with `fetch` instead of a link, because the request needs the key. */
export async function downloadBlob(sha256: string, name: string): Promise<void> {
  const url = URL.createObjectURL(await (await requestBlob(sha256)).blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

async function requestBlob(sha256: string): Promise<Response> {
  const response = await send('get_blob', { params: { sha256 } });
  if (response.ok) return response;
  const message =
    response.status === 404
      ? 'The content is not stored on this server.'
      : 'The content cannot be read. Try again.';
  throw new CallFailure(response.status, response.status === 404 ? 'NOT_FOUND' : 'ERROR', message);
}
