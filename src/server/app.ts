import type { IncomingHttpHeaders } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Context, Hono } from 'hono';
import { parseBody as readWith } from '../coordinator/operations/parse-body.js';
import { problemFromStoreError } from '../coordinator/queue/store-problem.js';
import { isProblem, unauthorizedProblem } from '../coordinator/wire/problem.js';
import { LogDamaged, StoreBroken, StoreUnavailable } from '../stores/store.js';
import { AccessLogEntry } from './access-log-entry.js';
import type { LogSink } from './auth/access-log.js';
import { type Authenticator, callerOf, isAuthRefusal } from './auth/authenticator.js';
import { Authorization } from './auth/authorization.js';
import { authorize } from './auth/authorize.js';
import { OPEN_PRINCIPAL, type Principal } from './auth/principal.js';
import { type RateLimiter, rateKindOf } from './auth/rate-limit.js';
import { ClientGone, readRequestBody } from './body.js';
import { originGuard } from './origin-guard.js';
import { type HttpResponse, problemResponse, toResponse } from './response.js';
import { type Route, type ServerContext, STREAMED } from './route.js';

export interface AppDependencies {
  readonly context: ServerContext;
  readonly routes: readonly Route[];
  readonly authenticator: Authenticator;
  readonly rateLimiter: RateLimiter;
  /** Access log, one line per request. Null disables it, and no line is built. */
  readonly log: LogSink | null;
  /** Error log, written whether or not there is an access log. */
  readonly errorLog: LogSink;
}

export type App = Hono<{ Bindings: HttpBindings }>;
type HonoContext = Context<{ Bindings: HttpBindings }>;

/** Builds the HTTP app: authenticates, validates, calls the coordinator and renders its reply. It decides nothing itself. */
export function createApp(dependencies: AppDependencies): App {
  const app: App = new Hono();
  for (const route of dependencies.routes) {
    app.on(route.method, route.path.replace(/\{(\w+)\}/g, ':$1'), async (request) => {
      const logEntry = new AccessLogEntry(route.id, request.req.param());
      const response = await handleRequest(dependencies, route, request, logEntry).catch((error) =>
        errorResponse(error, dependencies, route),
      );
      if (response !== STREAMED) return toFetchResponse(logEntry.write(response, dependencies), dependencies);
      request.env.outgoing.once('close', () => logEntry.write({ status: 200 }, dependencies));
      return RESPONSE_ALREADY_SENT;
    });
  }
  const paths = dependencies.routes.map((route) => ({ route, pattern: patternOf(route.path) }));
  app.notFound((request) => {
    const { pathname } = new URL(request.req.url);
    const allowed = paths.filter(({ pattern }) => pattern.test(pathname)).map(({ route }) => route.method);
    const response = malformedPathResponse(request) ?? notFoundResponse(allowed);
    return toFetchResponse(new AccessLogEntry(null, {}).write(response, dependencies), dependencies);
  });
  app.onError((error) => toFetchResponse(errorResponse(error, dependencies, null), dependencies));
  return app;
}

async function handleRequest(
  dependencies: AppDependencies,
  route: Route,
  request: HonoContext,
  logEntry: AccessLogEntry,
): Promise<HttpResponse | typeof STREAMED> {
  const { context, authenticator } = dependencies;
  const { incoming, outgoing } = request.env;
  const rejection =
    malformedPathResponse(request) ?? (authenticator.isOpen ? originGuard(incoming.headers) : null);
  if (rejection !== null) return rejection;
  const principal = await authenticateAndRateLimit(dependencies, route, incoming.headers, logEntry);
  if ('body' in principal) return principal;
  const query = readQuery(route, request);
  if ('refusal' in query) return query.refusal;
  const authorizeAgain = async () =>
    !('body' in (await authenticateAndAuthorize(authenticator, route, incoming.headers, logEntry)));
  const authorization = new Authorization(authenticator, principal, authorizeAgain);
  const read =
    route.body === undefined
      ? { value: undefined }
      : await readRequestBody(route.body, incoming, context, logEntry.tenant_id ?? '');
  if ('refusal' in read) return read.refusal;
  // Re-check authorization: the body may have taken long to arrive.
  if (route.action !== 'public' && !authorization.isStillAuthorized())
    return toResponse(unauthorizedProblem());
  logEntry.body = route.about === undefined ? read.value : route.about(read.value);
  const { isStillAuthorized } = authorization;
  const caller = { ...callerOf(principal, incoming.socket.remoteAddress ?? null), isStillAuthorized };
  const requestFields = {
    params: logEntry.params,
    query: query.value,
    body: read.value,
    tenant_id: logEntry.tenant_id ?? '',
  };
  const response = await route.run({
    context,
    ...requestFields,
    principal,
    caller,
    authorization,
    incoming,
    outgoing,
  });
  return response === STREAMED || response.status < 400 ? response : withRequestId(response, read.value);
}

const DEFAULT_TENANT_ID = 'default';

/** The principal, if it is authenticated, within its rate limit and authorized; otherwise the error response. */
async function authenticateAndRateLimit(
  { authenticator, rateLimiter }: AppDependencies,
  route: Route,
  headers: IncomingHttpHeaders,
  logEntry: AccessLogEntry,
): Promise<Principal | HttpResponse> {
  return authenticateAndAuthorize(authenticator, route, headers, logEntry, (principal) => {
    const waitSeconds = rateLimiter.take(principal, rateKindOf(route.id));
    if (waitSeconds === null) return null;
    const retryHeaders = { 'retry-after': String(waitSeconds) };
    return problemResponse('RATE_LIMITED', 'This key asks more often than it may.', undefined, retryHeaders);
  });
}

/** The principal, if it is authenticated and authorized. `beforeAuthorization` runs in between and may refuse. */
async function authenticateAndAuthorize(
  authenticator: Authenticator,
  route: Route,
  headers: IncomingHttpHeaders,
  logEntry: AccessLogEntry,
  beforeAuthorization: (principal: Principal) => HttpResponse | null = () => null,
): Promise<Principal | HttpResponse> {
  if (route.action === 'public') return OPEN_PRINCIPAL;
  const found = await authenticator.authenticate({ authorization: headers.authorization });
  if (isAuthRefusal(found)) return problemResponse(found.code, found.detail);
  logEntry.principal = found;
  if (route.tenant === 'own') logEntry.tenant_id = requestedTenant(found, headers['x-genesis-tenant']);
  const refused = beforeAuthorization(found);
  if (refused !== null) return refused;
  switch (authorize(found, route.action, logEntry.tenant_id)) {
    case 'allowed':
      return found;
    case 'hidden':
      return notFoundResponse([]);
    case 'forbidden':
      return problemResponse('FORBIDDEN', forbiddenDetail(found, logEntry.tenant_id));
  }
}

const forbiddenDetail = ({ role }: Principal, tenantId: string | null): string =>
  tenantId === null
    ? 'This concerns the whole platform, and your credential belongs to a tenant. Use a key of the platform: gen key create --role operator.'
    : `The role ${role} may not do this. Ask an admin of the tenant.`;

/** The tenant of the request. A principal of several tenants selects one by header. */
const requestedTenant = ({ tenant_id }: Principal, tenantHeader: string | string[] | undefined): string =>
  typeof tenantHeader === 'string' && tenantHeader !== '' ? tenantHeader : (tenant_id ?? DEFAULT_TENANT_ID);

function readQuery(
  route: Route,
  request: HonoContext,
): { value: Record<string, unknown> } | { refusal: HttpResponse } {
  if (route.query === undefined) return { value: {} };
  const read = readWith(route.query, request.req.query(), 'query');
  return isProblem(read) ? { refusal: toResponse(read) } : { value: read };
}

/** Rejects malformed percent-encoding in the path. */
function malformedPathResponse(request: HonoContext): HttpResponse | null {
  const { url = '/' } = request.env.incoming;
  if (!url.includes('%')) return null;
  try {
    decodeURIComponent(url.split('?', 1)[0] ?? '');
    return null;
  } catch {
    return problemResponse(
      'INVALID_REQUEST',
      'path: expected % followed by two hexadecimal digits, in UTF-8',
    );
  }
}

function notFoundResponse(allowed: readonly string[]): HttpResponse {
  if (allowed.length === 0)
    return problemResponse('NOT_FOUND', 'There is nothing here, or nothing of yours.');
  const allow = [...new Set(allowed)].sort().join(', ');
  return problemResponse('METHOD_NOT_ALLOWED', `This path takes ${allow}.`, undefined, { allow });
}

/** Adds the request id to a problem, so that a client with many requests can match it. */
function withRequestId(response: HttpResponse, body: unknown): HttpResponse {
  const { request_id } = (body ?? {}) as { request_id?: unknown };
  const isNamed = typeof request_id === 'string' && request_id.length <= 128;
  if (!isNamed || response.headers['content-type'] !== 'application/problem+json') return response;
  return { ...response, body: JSON.stringify({ ...JSON.parse(response.body as string), request_id }) };
}

/** Response to an unexpected error. The caller gets an id to ask about; the error itself goes only to the log. */
function errorResponse(
  error: unknown,
  { log, errorLog }: AppDependencies,
  route: Route | null,
): HttpResponse {
  if (error instanceof ClientGone)
    return problemResponse('TIMEOUT', 'The request ended before its body did.');
  if (error instanceof StoreUnavailable) {
    return problemResponse('UNAVAILABLE', 'Nothing happened: the store cannot be reached. Try again.');
  }
  const damaged = error instanceof LogDamaged ? problemFromStoreError(error) : null;
  if (damaged !== null) return toResponse(damaged);
  const error_id = crypto.randomUUID();
  const errorText = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const line = { level: 'error', error_id, route: route?.id ?? null, error: errorText } as const;
  for (const sink of new Set([errorLog, log])) sink?.(line);
  if (error instanceof StoreBroken) {
    return problemResponse('UNKNOWN', `It may have happened: retry with the same request_id. (${error_id})`);
  }
  return problemResponse('INTERNAL', `This is a fault of the server. Tell its operator: ${error_id}.`);
}

function toFetchResponse({ status, headers, body }: HttpResponse, { context }: AppDependencies): Response {
  const finalHeaders = context.stopping.aborted ? { ...headers, connection: 'close' } : headers;
  return new Response(body as string | Uint8Array<ArrayBuffer>, { status, headers: finalHeaders });
}

const patternOf = (path: string): RegExp => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`);
