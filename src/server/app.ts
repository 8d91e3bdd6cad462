import { z } from 'zod';
import { parseBody } from '../coordinator/operations/parse-body.js';
import { fieldProblem, isProblem, problemFromStoreError } from '../coordinator/wire/problem.js';
import { LogDamaged, StoreBroken, StoreUnavailable } from '../stores/store.js';
import type { Authenticator } from './auth/authenticator.js';
import type { RateLimiter } from './auth/rate-limit.js';
import { ClientGone, FetchConnection } from './connection.js';
import type { LogSink } from './log/logs.js';
import { beginLogLine, type WriteLogLine } from './middleware/access-log.js';
import { authenticate, limitRate, requirePermission, setCaller } from './middleware/authentication.js';
import { bodyMemoryFullResponse, readBody } from './middleware/body.js';
import { guardOrigin } from './middleware/origin-guard.js';
import { checkPath } from './middleware/path.js';
import {
  type HttpResponse,
  notFoundResponse,
  problemResponse,
  toFetchResponse,
  toResponse,
} from './response.js';
import { ApiCall, type App, type IncomingRequest, type Route, type ServerContext } from './route.js';
import { Router } from './router.js';

export interface AppServices {
  readonly context: ServerContext;
  readonly routes: readonly Route[];
  readonly authenticator: Authenticator;
  readonly rateLimiter: RateLimiter;
  /** Access log, one line per request. Null disables it, and no line is built. */
  readonly accessLog: LogSink | null;
  /** Whether the access log is on now. Called when a request is answered. Default: the log is always on. */
  readonly isAccessLogged?: () => boolean;
  /** Error log, written whether or not there is an access log. */
  readonly errorLog: LogSink;
}

/**
 * Builds the HTTP app: authenticates, validates, calls the coordinator and renders its reply. It decides nothing
 * itself, and needs no socket: `app.fetch` answers a `Request`, wherever it came from.
 */
export function createApp(services: AppServices): App {
  const { context, routes, accessLog: log, isAccessLogged } = services;
  const router = new Router(routes);

  /** Answers a matched call. A thousand requests wait here at once, so this uses few promises and no async function. */
  const answer = (call: ApiCall, writeLog: WriteLogLine | null): Promise<HttpResponse> => {
    const finish = (response: HttpResponse): HttpResponse => {
      try {
        call.bodyReservation?.release();
        const named = withRequestId(response, call.body);
        const { body } = named;
        // A stream has its own limit: `unsent_bytes_max` in project-feeds.ts.
        const isWithinMemory =
          body instanceof ReadableStream || call.reserveResponse(Buffer.byteLength(body));
        const sent = isWithinMemory ? named : bodyMemoryFullResponse();
        writeLog?.(sent, call);
        return sent;
      } catch (error) {
        return errorResponse(error, services, null);
      }
    };
    const fail = (error: unknown): HttpResponse => finish(errorResponse(error, services, call.route));
    try {
      const response = handle(call, services);
      return response instanceof Promise ? response.then(finish, fail) : Promise.resolve(finish(response));
    } catch (error) {
      return Promise.resolve(fail(error));
    }
  };

  /** Responds to a request. Never rejects: the listener handles no rejection, so the process would end. */
  const respond = (request: IncomingRequest): Promise<HttpResponse> => {
    try {
      const writeLog = log === null ? null : beginLogLine(log, isAccessLogged);
      const { path } = request;
      // HEAD is GET without the body, which the adapters leave out.
      const method = request.method === 'HEAD' ? 'GET' : request.method;
      const invalid = request.match === undefined ? checkPath(request) : null;
      const match = request.match ?? (invalid === null ? router.match(method, path) : null);
      if (match !== null) return answer(new ApiCall(match, context, app, request), writeLog);
      const response =
        invalid ?? guardCaller(request, services, null) ?? notFoundResponse(router.methodsOf(path));
      writeLog?.(response, null);
      return Promise.resolve(response);
    } catch (error) {
      return Promise.resolve(errorResponse(error, services, null));
    }
  };

  const fetch: App['fetch'] = async (request, bindings = {}) => {
    const { pathname, search } = new URL(request.url);
    const connection = bindings.connection ?? new FetchConnection(request);
    const { method } = request;
    const response = await respond({ ...bindings, method, path: pathname, search, connection });
    return toFetchResponse(response, method === 'HEAD');
  };

  const app: App = {
    match: (request) => (checkPath(request) === null ? router.match(request.method, request.path) : null),
    respond,
    fetch,
    request: (path, init) => fetch(new Request(new URL(path, 'http://localhost'), init)),
  };
  return app;
}

/** A call that a route of this server makes needs no check: the request that caused it was checked. */
const guardCaller = (
  { principal, connection }: IncomingRequest,
  { authenticator }: AppServices,
  route: Route | null,
): HttpResponse | null => (principal === undefined ? guardOrigin(connection, authenticator, route) : null);

/** Each middleware returns the response that ends the request, or null to let it pass. */
function handle(call: ApiCall, services: AppServices): HttpResponse | Promise<HttpResponse> {
  const { authenticator, rateLimiter } = services;
  // A page that sends no referrer submits its form with the origin `null`. Such a route relies on the token in the form.
  const originRefusal = call.route.hasOwnToken ? null : guardCaller(call.request, services, call.route);
  if (originRefusal !== null) return originRefusal;
  return andThen(authenticate(call, authenticator), (authentication) => {
    const refusal =
      setCaller(call, authentication, authenticator) ??
      limitRate(call, rateLimiter) ??
      requirePermission(call) ??
      readQuery(call);
    return refusal ?? andThen(readBody(call), (bodyRefusal) => bodyRefusal ?? call.route.run(call));
  });
}

/** Continues with a value at once, or when its promise resolves: most requests need no promise before their command. */
const andThen = <T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> =>
  value instanceof Promise ? value.then(next) : next(value);

function readQuery(call: ApiCall): HttpResponse | null {
  const { query, action } = call.route;
  // A call that ignored `at` would return the present state to a client that requested a past state.
  if (action === 'read' && call.request.search !== '' && !takesPosition(query) && 'at' in call.queryFields())
    return toResponse(fieldProblem('at', NO_PAST_TEXT));
  if (query === undefined) return null;
  const fields = parseBody(query, call.queryFields(), 'query');
  if (isProblem(fields)) return toResponse(fields);
  call.query = fields;
  return null;
}

const NO_PAST_TEXT =
  'this call shows only the present state, not the state at a position. Leave out the parameter at.';

const takesPosition = (query: Route['query']): boolean => query instanceof z.ZodObject && 'at' in query.shape;

/** Adds the request id to a problem, so that a client with many requests can match it. */
function withRequestId(response: HttpResponse, body: unknown): HttpResponse {
  if (response.status < 400) return response;
  const { request_id } = (body ?? {}) as { request_id?: unknown };
  const hasUsableRequestId = typeof request_id === 'string' && request_id.length <= 128;
  if (!hasUsableRequestId || response.headers['content-type'] !== 'application/problem+json') return response;
  return { ...response, body: JSON.stringify({ ...JSON.parse(response.body as string), request_id }) };
}

/**
 * The response to a thrown error. For an unexpected error the caller gets an id to report to the operator; only the log has
 * the error itself.
 */
function errorResponse(
  error: unknown,
  { accessLog, errorLog, isAccessLogged = () => true }: AppServices,
  route: Route | null,
): HttpResponse {
  if (error instanceof ClientGone)
    return problemResponse('TIMEOUT', 'The connection closed before the body was complete. Try again.');
  if (error instanceof StoreUnavailable)
    return problemResponse('UNAVAILABLE', 'The store cannot be reached. Nothing was changed. Try again.');
  const damaged = error instanceof LogDamaged ? problemFromStoreError(error) : null;
  if (damaged !== null) return toResponse(damaged);
  const error_id = crypto.randomUUID();
  const errorText = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const line = { level: 'error', error_id, route: route?.id ?? null, error: errorText } as const;
  for (const sink of new Set([errorLog, isAccessLogged() ? accessLog : null])) sink?.(line);
  if (error instanceof StoreBroken)
    return problemResponse('UNKNOWN', `Outcome unknown. Retry with the same request_id. (${error_id})`);
  return problemResponse('INTERNAL', `Internal error. Report this id to the operator: ${error_id}.`);
}
