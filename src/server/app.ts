import { Hono } from 'hono';
import { parseBody } from '../coordinator/operations/parse-body.js';
import { isProblem, problemFromStoreError } from '../coordinator/wire/problem.js';
import { LogDamaged, StoreBroken, StoreUnavailable } from '../stores/store.js';
import type { Authenticator } from './auth/authenticator.js';
import type { RateLimiter } from './auth/rate-limit.js';
import { ClientGone } from './connection.js';
import type { LogSink } from './log/logs.js';
import { startAccessLog } from './middleware/access-log.js';
import { authenticate, limitRate, requirePermission } from './middleware/authentication.js';
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
import { ApiCall, type App, connectionOf, type Route, type ServerContext } from './route.js';

export interface AppDependencies {
  readonly context: ServerContext;
  readonly routes: readonly Route[];
  readonly authenticator: Authenticator;
  readonly rateLimiter: RateLimiter;
  /** Access log, one line per request. Null disables it, and no line is built. */
  readonly accessLog: LogSink | null;
  /** Error log, written whether or not there is an access log. */
  readonly errorLog: LogSink;
}

/**
 * Builds the HTTP app: authenticates, validates, calls the coordinator and renders its reply. It decides nothing
 * itself, and needs no socket: `app.fetch` answers a `Request`, wherever it came from.
 */
export function createApp(dependencies: AppDependencies): App {
  const { context, routes, accessLog: log, authenticator } = dependencies;
  const app: App = new Hono();
  for (const route of routes) {
    const { pattern, literal } = routerPath(route.path, routes);
    app.on(route.method, pattern, async (c) => {
      if (literal !== null && c.req.param(literal.name) !== literal.value) return c.notFound();
      const writeLog = log === null ? null : startAccessLog(log);
      const call = new ApiCall(route, context, app, c);
      const response = await handle(call, dependencies).catch((error) =>
        errorResponse(error, dependencies, route),
      );
      call.bodyReservation?.release();
      const { body } = response;
      // A stream has limits of its own.
      const isHeld = body instanceof ReadableStream || call.reserveResponse(Buffer.byteLength(body));
      const sent = isHeld ? response : bodyMemoryFullResponse();
      writeLog?.(sent, call);
      return toFetchResponse(sent);
    });
  }
  app.notFound((c) => {
    const { url } = c.req.raw;
    const writeLog = log === null ? null : startAccessLog(log);
    const response =
      checkPath(url) ??
      guardOrigin(connectionOf(c), authenticator) ??
      notFoundResponse(allowedMethods(routes, new URL(url).pathname));
    writeLog?.(response, null);
    return toFetchResponse(response);
  });
  app.onError((error) => toFetchResponse(errorResponse(error, dependencies, null)));
  return app;
}

/** Each middleware returns the response that ends the request, or null to let it pass. */
async function handle(call: ApiCall, dependencies: AppDependencies): Promise<HttpResponse> {
  const { authenticator, rateLimiter } = dependencies;
  return (
    checkPath(call.request.url) ??
    (call.callingPrincipal === null ? guardOrigin(call.connection, authenticator) : null) ??
    (await authenticate(call, authenticator)) ??
    limitRate(call, rateLimiter) ??
    requirePermission(call) ??
    readQuery(call) ??
    (await readBody(call)) ??
    withRequestId(await call.route.run(call), call.body)
  );
}

function readQuery(call: ApiCall): HttpResponse | null {
  const { query } = call.route;
  if (query === undefined) return null;
  const fields = parseBody(query, call.queryFields(), 'query');
  if (isProblem(fields)) return toResponse(fields);
  call.query = fields;
  return null;
}

const PARAM = /\{(\w+)\}/g;

/**
 * The path for Hono. Its fast router supports no literal in the place of another route's parameter, so such a literal
 * becomes a parameter too, whose value is checked.
 */
function routerPath(path: string, routes: readonly Route[]) {
  const cut = path.lastIndexOf('/');
  const [parent, last] = [path.slice(0, cut), path.slice(cut + 1)];
  const parameter = last.startsWith('{')
    ? undefined
    : routes
        .find((other) => other.path.startsWith(`${parent}/{`))
        ?.path.slice(parent.length + 2)
        .split('}')[0];
  const pattern = parameter === undefined ? path : `${parent}/{${parameter}}`;
  const literal = parameter === undefined ? null : { name: parameter, value: last };
  return { pattern: pattern.replace(PARAM, ':$1'), literal };
}

const allowedMethods = (routes: readonly Route[], pathname: string): string[] =>
  routes
    .filter(({ path }) => new RegExp(`^${path.replace(PARAM, '[^/]+')}$`).test(pathname))
    .map(({ method }) => method);

/** Adds the request id to a problem, so that a client with many requests can match it. */
function withRequestId(response: HttpResponse, body: unknown): HttpResponse {
  if (response.status < 400) return response;
  const { request_id } = (body ?? {}) as { request_id?: unknown };
  const hasUsableRequestId = typeof request_id === 'string' && request_id.length <= 128;
  if (!hasUsableRequestId || response.headers['content-type'] !== 'application/problem+json') return response;
  return { ...response, body: JSON.stringify({ ...JSON.parse(response.body as string), request_id }) };
}

/** Response to an unexpected error. The caller gets an id to ask about; the error itself goes only to the log. */
function errorResponse(
  error: unknown,
  { accessLog: log, errorLog }: AppDependencies,
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
  for (const sink of new Set([errorLog, log])) sink?.(line);
  if (error instanceof StoreBroken)
    return problemResponse('UNKNOWN', `Outcome unknown. Retry with the same request_id. (${error_id})`);
  return problemResponse('INTERNAL', `Internal error. Report this id to the operator: ${error_id}.`);
}
