import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { LARGE_JSON_CHARS } from '../coordinator/documents/documents.js';
import { JsonText } from '../coordinator/documents/json-text.js';
import { isProblem, type Problem } from '../coordinator/problem.js';
import { PLAN_TEXT_LENGTH_MAX } from '../core/plan/index.js';
import { readStrictJson } from '../core/strict-json.js';
import { type Answer, answer, problemAnswer } from './answer.js';
import type { Body, House } from './route.js';

export const COMMAND_BYTES_MAX = 1024 * 1024;

/** The client went away in the middle: there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

export type Read = { readonly value: unknown } | { readonly refusal: Answer };

/** The body as its route wants it, read once, or the answer to whoever sent something else. */
export async function readBody(
  body: Body,
  incoming: IncomingMessage,
  house: House,
  tenant_id: string,
): Promise<Read> {
  const max = await bytesMax(body, house, tenant_id);
  if (isProblem(max)) return { refusal: answer(max) };
  const bytes = await readBytes(incoming, max);
  if (bytes === null) {
    await letPass(incoming);
    return { refusal: tooLarge(max) };
  }
  return readAs(body, bytes, incoming.headers['content-type']);
}

async function bytesMax(body: Body, house: House, tenant_id: string): Promise<number | Problem> {
  if (body.kind === 'json') return body.bytes_max ?? COMMAND_BYTES_MAX;
  if (body.kind === 'plan') return PLAN_TEXT_LENGTH_MAX;
  const limits = await house.coordinator.settings.getLimits(tenant_id);
  return isProblem(limits) ? limits : limits.max_result_size_bytes;
}

/** Null: it is larger than that, and the rest is left unread. */
function readBytes(incoming: IncomingMessage, bytes_max: number): Promise<Buffer | null> {
  if (Number(incoming.headers['content-length'] ?? 0) > bytes_max) return Promise.resolve(null);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const end = (settle: () => void): void => {
      incoming.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      settle();
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > bytes_max) end(() => resolve(null));
    };
    const onEnd = (): void =>
      end(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    const onGone = (): void => end(() => reject(new ClientGone('the client went away')));
    incoming.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}

const REST_BYTES_MAX = 128 * 1024 * 1024;
const REST_PAUSE_MS = 500;

/**
 * Most clients send all they have before they read: whoever is cut off meanwhile never learns why. So the rest is let
 * pass, and thrown away, before the answer, unless it stops coming or is more than anybody means to send.
 */
function letPass(incoming: IncomingMessage): Promise<void> {
  if (Number(incoming.headers['content-length'] ?? 0) > REST_BYTES_MAX) return Promise.resolve();
  return new Promise((resolve) => {
    let left_bytes = REST_BYTES_MAX;
    const onData = (chunk: Buffer): void => {
      left_bytes -= chunk.length;
      pause.refresh();
      if (left_bytes < 0) end();
    };
    const end = (): void => {
      clearTimeout(pause);
      incoming.off('data', onData).off('end', end).off('error', end).off('close', end);
      resolve();
    };
    const pause = setTimeout(end, REST_PAUSE_MS);
    incoming.on('data', onData).on('end', end).on('error', end).on('close', end);
  });
}

const tooLarge = (bytes_max: number): Answer =>
  problemAnswer('BODY_TOO_LARGE', `The body of this request has at most ${bytes_max} bytes.`, undefined, {
    connection: 'close',
  });

function readAs(body: Body, bytes: Buffer, content_type = ''): Read {
  if (body.kind === 'bytes') return { value: bytes };
  if (!isUtf8(bytes)) return malformed('expected text in UTF-8');
  const text = bytes.toString('utf8');
  if (body.kind === 'plan' && !content_type.includes('json')) return { value: text };
  const isDocument = body.kind === 'plan' || body.is_document === true;
  return isDocument && text.length > LARGE_JSON_CHARS ? { value: new JsonText(text) } : parsed(text);
}

function parsed(text: string): Read {
  const read = readStrictJson(text);
  return 'fault' in read ? malformed(read.fault) : read;
}

const malformed = (message: string): Read => ({
  refusal: problemAnswer('INVALID_REQUEST', `body: ${message}`, [{ path: '', message }]),
});
