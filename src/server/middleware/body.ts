import { isUtf8 } from 'node:buffer';
import { LARGE_JSON_CHARS } from '../../coordinator/documents/documents.js';
import { UnparsedJson } from '../../coordinator/documents/unparsed-json.js';
import { isProblem, type Problem, problem, unauthorizedProblem } from '../../coordinator/wire/problem.js';
import type { RequestBody } from '../../core/contract/operation.js';
import { PLAN_TEXT_LENGTH_MAX } from '../../core/plan/index.js';
import { readStrictJson } from '../../core/strict-json.js';
import { BodyReservation } from '../body-memory.js';
import type { RequestConnection } from '../connection.js';
import { type HttpResponse, problemResponse, toResponse } from '../response.js';
import type { ApiCall } from '../route.js';

export const COMMAND_BODY_BYTES_MAX = 1024 * 1024;
const FORM_BYTES_MAX = 64 * 1024;

/**
 * Reads and decodes the body as the route expects it. Refuses it if it is too large or malformed. Returns no promise for a
 * body that has arrived with its request (`DirectConnection`), unless it is a blob, whose limit is read first.
 */
export function readBody(call: ApiCall): HttpResponse | null | Promise<HttpResponse | null> {
  const { body } = call.route;
  if (body === undefined) return null;
  return body.kind === 'bytes' ? readBlob(call, body) : readLimited(call, body, textBytesMax(body));
}

async function readBlob(call: ApiCall, body: RequestBody): Promise<HttpResponse | null> {
  const bytesMax = await blobBytesMax(call);
  return isProblem(bytesMax) ? toResponse(bytesMax) : readLimited(call, body, bytesMax);
}

function readLimited(call: ApiCall, body: RequestBody, bytesMax: number) {
  const reservation = new BodyReservation(call.context.bodyMemory, call.principal);
  call.bodyReservation = reservation;
  const acceptBody = (bytes: Uint8Array | null): HttpResponse | null => {
    if (reservation.isRefused) return bodyMemoryFullResponse();
    if (bytes === null) return bodyTooLargeResponse(bytesMax);
    // The credential may have been revoked while the body arrived.
    if (call.route.action !== 'public' && !call.authorization.isStillAuthorized())
      return toResponse(unauthorizedProblem());
    const decoded = decodeBody(body, bytes, call.connection);
    if (isProblem(decoded)) return toResponse(decoded);
    call.body = decoded.value;
    return null;
  };
  const reading = call.connection.readBody(bytesMax, reservation);
  return reading instanceof Promise ? reading.then(acceptBody) : acceptBody(reading);
}

function textBytesMax(body: Exclude<RequestBody, { kind: 'bytes' }>): number {
  if (body.kind === 'form') return FORM_BYTES_MAX;
  return body.kind === 'plan' ? PLAN_TEXT_LENGTH_MAX : (body.bytes_max ?? COMMAND_BODY_BYTES_MAX);
}

async function blobBytesMax({ coordinator, tenant }: ApiCall): Promise<number | Problem> {
  const limits = await coordinator.settings.getLimits(tenant);
  return isProblem(limits) ? limits : limits.max_result_size_bytes;
}

const bodyTooLargeResponse = (bytesMax: number): HttpResponse =>
  problemResponse(
    'BODY_TOO_LARGE',
    `The request body exceeds ${bytesMax} bytes. Send a smaller body.`,
    undefined,
    {
      connection: 'close',
    },
  );

export const bodyMemoryFullResponse = (): HttpResponse =>
  problemResponse(
    'UNAVAILABLE',
    'Too many large requests or responses are in progress for this credential, its tenant or the whole server. Wait ' +
      'until some of them have ended, then send this request again.',
    undefined,
    { connection: 'close' },
  );

type DecodedBody = { readonly value: unknown } | Problem;

function decodeBody(body: RequestBody, bytes: Uint8Array, connection: RequestConnection): DecodedBody {
  if (body.kind === 'bytes') return { value: bytes };
  if (!isUtf8(bytes)) return malformedBody('expected text in UTF-8');
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const text = buffer.toString('utf8');
  if (body.kind === 'form') return { value: formFields(text) };
  if (body.kind === 'plan' && !(connection.header('content-type') ?? '').includes('json'))
    return { value: text };
  const isDocument = body.kind === 'plan' || body.is_document === true;
  if (isDocument && text.length > LARGE_JSON_CHARS) return { value: new UnparsedJson(text) };
  const parsed = readStrictJson(text);
  return 'fault' in parsed ? malformedBody(parsed.fault) : parsed;
}

/** The first value of each field. Browsers send line breaks as CRLF. */
const formFields = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...new URLSearchParams(text)].reverse().map(([name, value]) => [name, value.replaceAll('\r\n', '\n')]),
  );

const malformedBody = (message: string): Problem =>
  problem('INVALID_REQUEST', `body: ${message}`, [{ path: '', message }]);
