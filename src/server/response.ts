import { STATUS_CODES } from 'node:http';
import { isProblem, type Problem } from '../coordinator/wire/problem.js';
import { PROBLEM_STATUS, type ProblemCode, RETRY_AFTER_SECONDS, statusOf } from '../core/contract/codes.js';
import type { FieldFault, ProblemDocument } from '../core/contract/problem.js';
import { withoutUndefined } from '../core/without-undefined.js';
import { acceptsGzip } from './page/accepts-gzip.js';
import type { PageAsset } from './page/files.js';

/** A complete HTTP response. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array | ReadableStream<Uint8Array>;
  /** Code of the refusal or problem, for the access log. */
  readonly code?: string;
  /** Settles when a stream has ended. */
  readonly ended?: Promise<void>;
}

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};
/** Data must never run as a page, however a browser interprets it. */
const DATA_HEADERS = {
  ...SECURITY_HEADERS,
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** If a page of another site opens this page, it gets no reference to this page's window. */
const OPENER_POLICY = { 'cross-origin-opener-policy': 'same-origin' };
const PAGE_HEADERS = {
  ...SECURITY_HEADERS,
  ...OPENER_POLICY,
  'cache-control': 'no-cache',
  'content-security-policy': PAGE_POLICY,
};
const FORM_PAGE_HEADERS = {
  ...SECURITY_HEADERS,
  ...OPENER_POLICY,
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'x-robots-tag': 'noindex',
};
const JSON_HEADERS = { ...DATA_HEADERS, 'content-type': 'application/json' };
const PROBLEM_HEADERS = { ...DATA_HEADERS, 'content-type': 'application/problem+json' };
const BYTES_HEADERS = {
  ...DATA_HEADERS,
  'content-type': 'application/octet-stream',
  'content-disposition': 'attachment',
};
export const STREAM_HEADERS = {
  ...DATA_HEADERS,
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/** Renders a coordinator reply: a result, a refusal or a problem. */
export function toResponse(reply: object): HttpResponse {
  if (isProblem(reply)) return problemResponse(reply.problem, reply.detail, reply.faults);
  const status = statusOf(reply);
  const { reason } = reply as { reason?: unknown };
  const headers = withRetryAfter(JSON_HEADERS, status);
  const body = JSON.stringify(reply);
  return typeof reason === 'string' ? { status, headers, body, code: reason } : { status, headers, body };
}

const okResponse = (body: string | Uint8Array, headers: Record<string, string>): HttpResponse => ({
  status: 200,
  headers,
  body,
});

/** Renders a view with status 200. A refusal inside it is history, not the outcome of this request. */
export function toOkResponse(reply: object): HttpResponse {
  if (isProblem(reply)) return toResponse(reply);
  return okResponse(JSON.stringify(reply), JSON_HEADERS);
}

/** Renders the problems in the list `name` of a reply. */
export function withProblemDocuments<Name extends string>(
  reply: { readonly [Key in Name]: readonly object[] } | Problem,
  name: Name,
): object {
  if (isProblem(reply)) return reply;
  const items = reply[name].map((item) =>
    isProblem(item) ? problemDocument(item.problem, item.detail, item.faults) : item,
  );
  return { ...reply, [name]: items };
}

function problemDocument(code: ProblemCode, detail: string, faults?: readonly FieldFault[]): ProblemDocument {
  const status = PROBLEM_STATUS[code];
  const title = STATUS_CODES[status] ?? 'Problem';
  return { type: 'about:blank', title, status, code, detail, ...withoutUndefined({ faults }) };
}

export function problemResponse(
  code: ProblemCode,
  detail: string,
  faults?: readonly FieldFault[],
  headers: Readonly<Record<string, string>> = {},
): HttpResponse & { readonly body: string } {
  const document = problemDocument(code, detail, faults);
  const { status } = document;
  // RFC 9110 requires every 401 to name an authentication scheme.
  const authenticate = status === 401 ? { 'www-authenticate': 'Bearer' } : {};
  const allHeaders = withRetryAfter({ ...PROBLEM_HEADERS, ...authenticate, ...headers }, status);
  return { status, headers: allHeaders, body: JSON.stringify(document), code };
}

export const textResponse = (body: string, contentType: string): HttpResponse =>
  okResponse(body, { ...DATA_HEADERS, 'content-type': contentType });

export const bytesResponse = (body: Uint8Array): HttpResponse => okResponse(body, BYTES_HEADERS);

export const pageResponse = (body: string, contentType: string): HttpResponse =>
  okResponse(body, { ...PAGE_HEADERS, 'content-type': `${contentType}; charset=utf-8` });

/** The API reference. Its viewer sets styles in the document, so this page alone allows inline styles. */
export const referenceResponse = (body: string): HttpResponse =>
  okResponse(body, {
    ...PAGE_HEADERS,
    'content-security-policy': PAGE_POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'"),
    'content-type': 'text/html; charset=utf-8',
  });

/** A file whose name carries a digest of its content, compressed if the client accepts that. */
export function assetResponse(asset: PageAsset, acceptEncoding: string | null): HttpResponse {
  const isCompressed = acceptsGzip(acceptEncoding);
  return okResponse(isCompressed ? asset.gzip : asset.content, {
    ...PAGE_HEADERS,
    'cache-control': 'public, max-age=31536000, immutable',
    'content-type': `${asset.content_type}; charset=utf-8`,
    vary: 'accept-encoding',
    ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
  });
}

/** A page with a form that this server receives. The page has no script, and is not cached. */
export const formPageResponse = (body: string, status = 200, code?: string): HttpResponse => ({
  status,
  headers: { ...FORM_PAGE_HEADERS, 'content-type': 'text/html; charset=utf-8' },
  body,
  ...(code === undefined ? {} : { code }),
});

function withRetryAfter(headers: Record<string, string>, status: number): Record<string, string> {
  const seconds = RETRY_AFTER_SECONDS[status];
  return seconds === undefined ? headers : { 'retry-after': seconds, ...headers };
}

/**
 * The response where no route has the path and the method. A resource of another tenant looks like a missing resource.
 */
export function notFoundResponse(otherMethods: readonly string[]): HttpResponse {
  if (otherMethods.length === 0)
    return problemResponse('NOT_FOUND', 'Not found, or not visible to your credential. Check path and key.');
  const allow = [...new Set(otherMethods)].sort().join(', ');
  return problemResponse('METHOD_NOT_ALLOWED', `This path supports ${allow} only.`, undefined, { allow });
}

export function toFetchResponse({ status, headers, body }: HttpResponse, withoutBody = false): Response {
  if (withoutBody && body instanceof ReadableStream) void body.cancel();
  const sentBody = withoutBody ? null : (body as string | ReadableStream<Uint8Array<ArrayBuffer>>);
  return new Response(sentBody, { status, headers });
}
