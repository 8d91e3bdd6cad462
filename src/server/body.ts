import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { LARGE_JSON_CHARS } from '../coordinator/documents/documents.js';
import { JsonText } from '../coordinator/documents/json-text.js';
import { isProblem, type Problem } from '../coordinator/wire/problem.js';
import { PLAN_TEXT_LENGTH_MAX } from '../core/plan/index.js';
import { readStrictJson } from '../core/strict-json.js';
import { type HttpResponse, problemResponse, toResponse } from './response.js';
import type { RouteBody, ServerContext } from './route.js';

export const COMMAND_BYTES_MAX = 1024 * 1024;

/** The client disconnected while sending its body, so nobody reads the response. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

export type BodyReadResult = { readonly value: unknown } | { readonly refusal: HttpResponse };

/** Reads the body as the route expects it, or returns the error response. */
export async function readRequestBody(
  body: RouteBody,
  incoming: IncomingMessage,
  context: ServerContext,
  tenantId: string,
): Promise<BodyReadResult> {
  const max = await bodyBytesMax(body, context, tenantId);
  if (isProblem(max)) return { refusal: toResponse(max) };
  const bytes = await readBytes(incoming, max);
  if (bytes === null) {
    await discardRest(incoming);
    return { refusal: bodyTooLargeResponse(max) };
  }
  return decodeBody(body, bytes, incoming.headers['content-type']);
}

async function bodyBytesMax(
  body: RouteBody,
  context: ServerContext,
  tenantId: string,
): Promise<number | Problem> {
  if (body.kind === 'json') return body.bytes_max ?? COMMAND_BYTES_MAX;
  if (body.kind === 'plan') return PLAN_TEXT_LENGTH_MAX;
  const limits = await context.coordinator.settings.getLimits(tenantId);
  return isProblem(limits) ? limits : limits.max_result_size_bytes;
}

/** Null if the body exceeds the limit; the rest is left unread. */
function readBytes(incoming: IncomingMessage, bytesMax: number): Promise<Buffer | null> {
  if (Number(incoming.headers['content-length'] ?? 0) > bytesMax) return Promise.resolve(null);
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
      if (size > bytesMax) end(() => resolve(null));
    };
    const onEnd = (): void =>
      end(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    const onGone = (): void => end(() => reject(new ClientGone('the client went away')));
    incoming.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}

const DISCARDED_BYTES_MAX = 128 * 1024 * 1024;
const DISCARD_IDLE_MS = 500;

/**
 * Discards the rest of a body before the response. Most clients send everything before they read, and would not see
 * the response if cut off. Stops if the data stalls or exceeds a generous limit.
 */
function discardRest(incoming: IncomingMessage): Promise<void> {
  if (Number(incoming.headers['content-length'] ?? 0) > DISCARDED_BYTES_MAX) return Promise.resolve();
  return new Promise((resolve) => {
    let leftBytes = DISCARDED_BYTES_MAX;
    const onData = (chunk: Buffer): void => {
      leftBytes -= chunk.length;
      idleTimer.refresh();
      if (leftBytes < 0) end();
    };
    const end = (): void => {
      clearTimeout(idleTimer);
      incoming.off('data', onData).off('end', end).off('error', end).off('close', end);
      resolve();
    };
    const idleTimer = setTimeout(end, DISCARD_IDLE_MS);
    incoming.on('data', onData).on('end', end).on('error', end).on('close', end);
  });
}

const bodyTooLargeResponse = (bytesMax: number): HttpResponse =>
  problemResponse('BODY_TOO_LARGE', `The body of this request has at most ${bytesMax} bytes.`, undefined, {
    connection: 'close',
  });

function decodeBody(body: RouteBody, bytes: Buffer, contentType = ''): BodyReadResult {
  if (body.kind === 'bytes') return { value: bytes };
  if (!isUtf8(bytes)) return malformed('expected text in UTF-8');
  const text = bytes.toString('utf8');
  if (body.kind === 'plan' && !contentType.includes('json')) return { value: text };
  const isDocument = body.kind === 'plan' || body.is_document === true;
  return isDocument && text.length > LARGE_JSON_CHARS ? { value: new JsonText(text) } : parseJson(text);
}

function parseJson(text: string): BodyReadResult {
  const read = readStrictJson(text);
  return 'fault' in read ? malformed(read.fault) : read;
}

const malformed = (message: string): BodyReadResult => ({
  refusal: problemResponse('INVALID_REQUEST', `body: ${message}`, [{ path: '', message }]),
});
