import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Problem } from './replies.js';
import { BLOB_BYTES_MAX, bytesOf, jsonOf, ReplyTooLarge } from './reply-bytes.js';
import { sharedSignal } from './shared-signal.js';

/** How long and how often a request that may have happened is repeated. */
export interface RetryOptions {
  readonly tries?: number;
  readonly within_seconds?: number;
}

export interface HttpOptions {
  readonly url: string;
  readonly token?: string | undefined;
  /** For one try; a long poll adds what it waits. */
  readonly timeout_seconds?: number | undefined;
  readonly retry?: RetryOptions | undefined;
}

export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** JSON, unless `content_type` says that these are bytes or text as they are. */
  readonly body?: unknown;
  readonly content_type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the server itself may wait before it answers. */
  readonly wait_seconds?: number;
  readonly signal?: AbortSignal | undefined;
  /** In place of the client's own. */
  readonly timeout_seconds?: number;
  readonly tries?: number;
}

interface Failure {
  readonly problem: Problem;
  /** False: no server was there, so nothing happened. */
  readonly may_have_happened: boolean;
  readonly retry_after_ms?: number;
}
type Outcome<T> = { readonly reply: T } | Failure;

const TRIES = 10;
const WITHIN_SECONDS = 30;
const TIMEOUT_SECONDS = 10;
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 2000;
/** Answers that say nothing about what became of the request, or that it may be sent again. */
const PASSING = new Set([408, 429, 502, 503, 504]);

export const newRequestId = (): string => randomUUID();

/** JSON over HTTP. A request is repeated, byte for byte, until it is answered or its time is over. */
export class Http {
  constructor(readonly options: HttpOptions) {}

  json<T>(request: Request): Promise<T | Problem> {
    return this.send(request, async (response) => (await jsonOf(response)) as T);
  }

  bytes(request: Request): Promise<Uint8Array | Problem> {
    return this.send(request, async (response) => new Uint8Array(await bytesOf(response, BLOB_BYTES_MAX)));
  }

  /** One try, with its response still open: what a feed reads from. */
  open(request: Request, signal: AbortSignal): Promise<Response> {
    return fetch(this.address(request), this.initial(request, signal));
  }

  private async send<T>(request: Request, read: (response: Response) => Promise<T>): Promise<T | Problem> {
    const { within_seconds = WITHIN_SECONDS } = this.options.retry ?? {};
    const tries = request.tries ?? this.options.retry?.tries ?? TRIES;
    const end_ms = performance.now() + within_seconds * 1000;
    let reached = false;
    for (let tried = 1; ; tried++) {
      const outcome = await this.attempt(request, read);
      if ('reply' in outcome) return outcome.reply;
      reached ||= outcome.may_have_happened;
      const pause_ms = outcome.retry_after_ms ?? pauseAfter(tried);
      const over = tried >= tries || performance.now() + pause_ms > end_ms || request.signal?.aborted;
      if (over) return reached ? outcome.problem : unreachable(this.options.url, outcome.problem);
      await sleep(pause_ms, undefined, { signal: request.signal }).catch(() => {});
      if (request.signal?.aborted) return outcome.problem;
    }
  }

  private async attempt<T>(
    request: Request,
    read: (response: Response) => Promise<T>,
  ): Promise<Outcome<T | Problem>> {
    const try_seconds = request.timeout_seconds ?? this.options.timeout_seconds ?? TIMEOUT_SECONDS;
    const timeout_ms = (try_seconds + (request.wait_seconds ?? 0)) * 1000;
    const limit = new AbortController();
    const stop = () => limit.abort();
    const timer = setTimeout(stop, timeout_ms);
    sharedSignal(request.signal)?.addEventListener('abort', stop);
    if (request.signal?.aborted) stop();
    try {
      const response = await fetch(this.address(request), this.initial(request, limit.signal));
      if (isProblemResponse(response)) return await refused(response);
      if (response.ok || isJson(response)) return { reply: await read(response) };
      return await refused(response);
    } catch (error) {
      if (error instanceof ReplyTooLarge) return { reply: error.problem };
      return noAnswer(this.options.url, error, limit.signal.aborted);
    } finally {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', stop);
    }
  }

  private address({ path, query = {} }: Request): string {
    const asked = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) asked.set(name, String(value));
    const search = asked.size === 0 ? '' : `?${asked}`;
    return `${this.options.url.replace(/\/+$/, '')}${path}${search}`;
  }

  private initial(request: Request, signal: AbortSignal): RequestInit {
    const { method, body, content_type } = request;
    const headers: Record<string, string> = { accept: 'application/json', ...request.headers };
    if (this.options.token !== undefined) headers.authorization = `Bearer ${this.options.token}`;
    // A server of ours sends nobody elsewhere: what would is another, and gets neither the token nor the body.
    const redirect = 'manual';
    if (body === undefined) return { method, headers, signal, redirect };
    headers['content-type'] = content_type ?? 'application/json';
    const bytes = content_type === undefined ? JSON.stringify(body) : (body as string | Uint8Array);
    return { method, headers, signal, redirect, body: bytes };
  }
}

/** Growing, and spread out so that a fleet that lost its server does not come back as one. */
export function pauseAfter(tried: number): number {
  return Math.min(PAUSE_MS * 2 ** (tried - 1), PAUSE_MS_MAX) * (0.5 + Math.random() / 2);
}

const contentType = (response: Response): string => response.headers.get('content-type') ?? '';
const isProblemResponse = (response: Response): boolean =>
  contentType(response).startsWith('application/problem+json');
const isJson = (response: Response): boolean => contentType(response).startsWith('application/json');

export async function problemOf(response: Response): Promise<Problem> {
  const { status } = response;
  try {
    const body = (await jsonOf(response)) as Partial<Problem>;
    const code = body.code ?? `HTTP_${status}`;
    return { ...body, code, detail: body.detail ?? response.statusText, status };
  } catch (error) {
    if (error instanceof ReplyTooLarge) return error.problem;
    return { code: `HTTP_${status}`, detail: `The server answered ${status} without a reason.`, status };
  }
}

/** No repetition helps: a person has to put a file back. */
export const isLasting = ({ code }: Problem): boolean => code === 'LOG_DAMAGED';

async function refused(response: Response): Promise<Outcome<Problem>> {
  const problem = await problemOf(response);
  if (!PASSING.has(response.status) || isLasting(problem)) return { reply: problem };
  const retry_after_ms = retryAfterMs(response.headers.get('retry-after'));
  return { problem, may_have_happened: true, ...(retry_after_ms === null ? {} : { retry_after_ms }) };
}

/** Seconds or a date, as HTTP has it; a little is added so that not all come at the same moment. */
function retryAfterMs(value: string | null): number | null {
  if (value === null) return null;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(ms, 0) + Math.random() * PAUSE_MS : null;
}

const NEVER_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

function noAnswer(url: string, error: unknown, gaveUp: boolean): Failure {
  const cause = (error as { cause?: { code?: string; message?: string } }).cause;
  const why = gaveUp ? 'no answer in time' : (cause?.code ?? cause?.message ?? String(error));
  const detail = `No answer from ${url} (${why}). It may have happened: repeat it with the same request_id.`;
  const may_have_happened = !NEVER_SENT.has(cause?.code ?? '');
  return { problem: { code: 'UNKNOWN', detail, status: 0 }, may_have_happened };
}

function unreachable(url: string, problem: Problem): Problem {
  const detail = `No server answers at ${url}: nothing happened. Start one with \`gen up\`, or set GENESIS_URL.`;
  return { ...problem, code: 'UNREACHABLE', detail };
}
