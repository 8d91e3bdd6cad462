import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { withoutUndefined } from '../core/without-undefined.js';
import { type ApiProblem, GenesisError } from './replies.js';
import { bytesOf, jsonOf, REPLY_BLOB_BYTES_MAX } from './reply-bytes.js';

/** Limits for retrying a request after a transient failure. */
export interface RetryOptions {
  readonly tries?: number;
  readonly within_seconds?: number;
}

export interface HttpOptions {
  readonly url: string;
  readonly token?: string;
  /** Answers the requests instead of the server at `url`: `app.fetch` of an app in this process. */
  readonly fetch?: (request: Request) => Response | Promise<Response>;
  /** Timeout of one attempt; a long poll adds its wait time. */
  readonly timeout_seconds?: number;
  readonly retry?: RetryOptions;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** Sent as JSON, unless `content_type` is set for raw bytes or text. */
  readonly body?: unknown;
  readonly content_type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** How long the server may wait before it answers. */
  readonly wait_seconds?: number;
  readonly signal?: AbortSignal | undefined;
  /** Overrides the client's timeout. */
  readonly timeout_seconds?: number;
  readonly tries?: number;
}

interface AttemptFailure {
  readonly problem: ApiProblem;
  /** False if no server was reached, so nothing happened. */
  readonly may_have_happened: boolean;
  /** Why there was no response; empty if there was one. */
  readonly cause: string;
  /** When the server says to retry; null if it does not say. */
  readonly retry_after_ms: number | null;
}
type AttemptOutcome<T> = { readonly reply: T } | AttemptFailure;

const DEFAULT_TRIES = 10;
const DEFAULT_WITHIN_SECONDS = 30;
const DEFAULT_TIMEOUT_SECONDS = 10;
/** The longest timer that Node supports: a longer one fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;
const RETRY_DELAY_MS = 100;
const RETRY_DELAY_MS_MAX = 2000;
/** Statuses after which the request is sent again: its outcome is unknown, or the server is busy. */
const TRANSIENT_STATUSES = new Set([408, 429, 502, 503, 504]);

export const newRequestId = (): string => randomUUID();

/** JSON over HTTP. After a transient failure a request is repeated unchanged, until its attempts or its time are used up. */
export class Http {
  constructor(readonly options: HttpOptions) {}

  json<T>(request: HttpRequest): Promise<T | ApiProblem> {
    return this.send(request, async (response) => (await jsonOf(response)) as T);
  }

  bytes(request: HttpRequest, bytesMax = REPLY_BLOB_BYTES_MAX): Promise<Uint8Array | ApiProblem> {
    return this.send(request, async (response) => new Uint8Array(await bytesOf(response, bytesMax)));
  }

  /** A single attempt that returns the open response, for streaming. */
  async open(request: HttpRequest, signal: AbortSignal): Promise<Response> {
    const [url, init] = [this.urlOf(request), this.requestInit(request, signal)];
    return this.options.fetch === undefined ? fetch(url, init) : this.options.fetch(new Request(url, init));
  }

  private async send<T>(
    request: HttpRequest,
    read: (response: Response) => Promise<T>,
  ): Promise<T | ApiProblem> {
    const { within_seconds = DEFAULT_WITHIN_SECONDS } = this.options.retry ?? {};
    const tries = request.tries ?? this.options.retry?.tries ?? DEFAULT_TRIES;
    const endMs = performance.now() + within_seconds * 1000;
    let mayHaveHappened = false;
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.attempt(request, read);
      if ('reply' in outcome) return outcome.reply;
      mayHaveHappened ||= outcome.may_have_happened;
      const pauseMs = outcome.retry_after_ms ?? retryDelayMs(attempt);
      const isOver = attempt >= tries || performance.now() + pauseMs > endMs || request.signal?.aborted;
      if (isOver) return mayHaveHappened ? outcome.problem : unreachableProblem(this.options.url, outcome);
      await sleep(pauseMs, undefined, { signal: request.signal }).catch(() => {});
      if (request.signal?.aborted) return outcome.problem;
    }
  }

  private async attempt<T>(
    request: HttpRequest,
    read: (response: Response) => Promise<T>,
  ): Promise<AttemptOutcome<T | ApiProblem>> {
    const attemptSeconds = request.timeout_seconds ?? this.options.timeout_seconds ?? DEFAULT_TIMEOUT_SECONDS;
    const timeoutMs = Math.min((attemptSeconds + (request.wait_seconds ?? 0)) * 1000, TIMER_MS_MAX);
    const attemptController = new AbortController();
    const stop = () => attemptController.abort();
    const timer = setTimeout(stop, timeoutMs);
    withoutListenerLimit(request.signal)?.addEventListener('abort', stop);
    if (request.signal?.aborted) stop();
    try {
      const response = await this.open(request, attemptController.signal);
      const contentType = response.headers.get('content-type') ?? '';
      const isReply =
        !contentType.startsWith('application/problem+json') &&
        (response.ok || contentType.startsWith('application/json'));
      return isReply ? { reply: await read(response) } : await problemOutcome(response);
    } catch (error) {
      if (error instanceof GenesisError) return { reply: error.problem };
      return noAnswerFailure(this.options.url, request.method, error, attemptController.signal.aborted);
    } finally {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', stop);
    }
  }

  private urlOf({ path, query = {} }: HttpRequest): string {
    const params = new URLSearchParams(withoutUndefined(query) as Record<string, string>);
    const search = params.size === 0 ? '' : `?${params}`;
    return `${this.options.url.replace(/\/+$/, '')}${path}${search}`;
  }

  private requestInit(request: HttpRequest, signal: AbortSignal): RequestInit {
    const { method, body, content_type } = request;
    const headers: Record<string, string> = { accept: 'application/json', ...request.headers };
    if (this.options.token !== undefined) headers.authorization = `Bearer ${this.options.token}`;
    // A Genesis server never redirects: a redirect target is another
    // server, and must get neither the token nor the body.
    const init: RequestInit = { method, headers, signal, redirect: 'manual' };
    if (body === undefined) return init;
    headers['content-type'] = content_type ?? 'application/json';
    return {
      ...init,
      body: content_type === undefined ? JSON.stringify(body) : (body as string | Uint8Array),
    };
  }
}

/** The same signal without its listener limit. Many calls share it, and Node warns of a leak from the eleventh listener on. */
export function withoutListenerLimit<T extends AbortSignal | undefined>(signal: T): T {
  if (signal !== undefined) setMaxListeners(0, signal);
  return signal;
}

/** Exponential backoff with jitter, so that a fleet does not reconnect all at once. */
export function retryDelayMs(attempt: number): number {
  return Math.min(RETRY_DELAY_MS * 2 ** (attempt - 1), RETRY_DELAY_MS_MAX) * (0.5 + Math.random() / 2);
}

export async function problemOf(response: Response): Promise<ApiProblem> {
  const { status } = response;
  try {
    const body = (await jsonOf(response)) as Partial<ApiProblem>;
    const code = body.code ?? `HTTP_${status}`;
    return { ...body, code, detail: body.detail ?? response.statusText, status };
  } catch (error) {
    if (error instanceof GenesisError) return error.problem;
    return {
      code: `HTTP_${status}`,
      detail: `The server responded with ${status} and no details. Check that the URL names a coordinator.`,
      status,
    };
  }
}

/** Whether retrying is useless until an operator has repaired the log. */
export const isPermanent = ({ code }: ApiProblem): boolean => code === 'LOG_DAMAGED';

async function problemOutcome(response: Response): Promise<AttemptOutcome<ApiProblem>> {
  const problem = await problemOf(response);
  if (!TRANSIENT_STATUSES.has(response.status) || isPermanent(problem)) return { reply: problem };
  const retry_after_ms = retryAfterMs(response.headers.get('retry-after'));
  return { problem, may_have_happened: true, cause: '', retry_after_ms };
}

/** Parses seconds or an HTTP date. Adds jitter, so that clients do not retry at the same moment. */
function retryAfterMs(value: string | null): number | null {
  if (value === null) return null;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(ms, 0) + Math.random() * RETRY_DELAY_MS : null;
}

const NEVER_SENT_CODES = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** A lost connection, for a caller that retries by itself. */
export function noAnswerProblem(url: string, error: unknown): ApiProblem {
  const detail = `No response from ${url} (${causeText(error)}).`;
  return { code: 'UNREACHABLE', detail, status: 0 };
}

function causeText(error: unknown): string {
  const cause = (error as { cause?: { code?: string; message?: string } }).cause;
  return cause?.code ?? cause?.message ?? String(error);
}

function noAnswerFailure(
  url: string,
  method: HttpRequest['method'],
  error: unknown,
  isTimedOut: boolean,
): AttemptFailure {
  const text = causeText(error);
  const cause = isTimedOut ? 'timed out' : text;
  const advice =
    method === 'GET'
      ? 'Nothing was changed. Try again.'
      : 'The outcome is unknown: retry with the same request_id.';
  const detail = `No response from ${url} (${cause}). ${advice}`;
  // If `fetch` blocks the port, its error has this text and no code.
  const isNeverSent = NEVER_SENT_CODES.has(text) || text === 'bad port';
  return {
    problem: { code: 'UNKNOWN', detail, status: 0 },
    may_have_happened: !isNeverSent,
    cause,
    retry_after_ms: null,
  };
}

function unreachableProblem(url: string, { problem, cause }: AttemptFailure): ApiProblem {
  const detail = `No server responds at ${url} (${cause}). Nothing was changed. Start one with \`gen up\`, or correct the URL (GENESIS_URL).`;
  return { ...problem, code: 'UNREACHABLE', detail };
}
