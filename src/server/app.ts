import type { IncomingHttpHeaders } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Context, Hono } from 'hono';
import { readBody as readWith } from '../coordinator/operations/read.js';
import { isProblem, noLongerAuthorized } from '../coordinator/problem.js';
import { storeProblem } from '../coordinator/store-problem.js';
import { LogDamaged, StoreBroken, StoreUnavailable } from '../stores/store.js';
import { type Answer, answer, problemAnswer } from './answer.js';
import type { LogSink } from './auth/access-log.js';
import { Authorization } from './auth/authorization.js';
import { authorize } from './auth/authorize.js';
import { callerOf, type Gatekeeper, isRefusal } from './auth/gatekeeper.js';
import { OPEN_PRINCIPAL, type Principal } from './auth/principal.js';
import { type RateLimiter, rateKindOf } from './auth/rate-limit.js';
import { ClientGone, readBody } from './body.js';
import { strangerRefused } from './open-door.js';
import { type House, type Route, STREAMED } from './route.js';
import { Visit } from './visit.js';

export interface Door {
  readonly house: House;
  readonly routes: readonly Route[];
  readonly gatekeeper: Gatekeeper;
  readonly limiter: RateLimiter;
  /** For every request. Null: nobody reads it, so nothing is made ready for it. */
  readonly log: LogSink | null;
  /** For errors, which are written whether or not there is a log of requests. */
  readonly errorLog: LogSink;
}

export type App = Hono<{ Bindings: HttpBindings }>;
type Request = Context<{ Bindings: HttpBindings }>;

/** The way of every request: whether it may, what it says, what the coordinator answers. It decides nothing itself. */
export function createApp(door: Door): App {
  const app: App = new Hono();
  for (const route of door.routes) {
    app.on(route.method, route.path.replace(/\{(\w+)\}/g, ':$1'), async (request) => {
      const visit = new Visit(route.id, request.req.param());
      const said = await answerTo(door, route, request, visit).catch((error) => broken(error, door, route));
      if (said !== STREAMED) return responseOf(visit.told(said, door), door);
      request.env.outgoing.once('close', () => visit.told({ status: 200 }, door));
      return RESPONSE_ALREADY_SENT;
    });
  }
  const paths = door.routes.map((route) => ({ route, pattern: patternOf(route.path) }));
  app.notFound((request) => {
    const { pathname } = new URL(request.req.url);
    const allowed = paths.filter(({ pattern }) => pattern.test(pathname)).map(({ route }) => route.method);
    const said = badPath(request) ?? nothingHere(allowed);
    return responseOf(new Visit(null, {}).told(said, door), door);
  });
  app.onError((error) => responseOf(broken(error, door, null), door));
  return app;
}

async function answerTo(
  door: Door,
  route: Route,
  request: Request,
  visit: Visit,
): Promise<Answer | typeof STREAMED> {
  const { house, gatekeeper } = door;
  const { incoming, outgoing } = request.env;
  const bad = badPath(request) ?? (gatekeeper.open ? strangerRefused(incoming.headers) : null);
  if (bad !== null) return bad;
  const principal = await admitted(door, route, incoming.headers, visit);
  if ('body' in principal) return principal;
  const query = readQuery(route, request);
  if ('refusal' in query) return query.refusal;
  const authorizeAgain = async () =>
    !('body' in (await permitted(gatekeeper, route, incoming.headers, visit)));
  const authorization = new Authorization(gatekeeper, principal, authorizeAgain);
  const read =
    route.body === undefined
      ? { value: undefined }
      : await readBody(route.body, incoming, house, visit.tenant_id ?? '');
  if ('refusal' in read) return read.refusal;
  // The body may have taken long to arrive.
  if (route.action !== 'public' && !authorization.isStillAuthorized()) return answer(noLongerAuthorized());
  visit.body = route.about === undefined ? read.value : route.about(read.value);
  const { isStillAuthorized } = authorization;
  const caller = { ...callerOf(principal, incoming.socket.remoteAddress ?? null), isStillAuthorized };
  const about = {
    params: visit.params,
    query: query.value,
    body: read.value,
    tenant_id: visit.tenant_id ?? '',
  };
  const said = await route.run({ house, ...about, principal, caller, authorization, incoming, outgoing });
  return said === STREAMED || said.status < 400 ? said : withRequestId(said, read.value);
}

const OWN_TENANT_DEFAULT = 'default';

/** Who asks, where they may and not too often; else what they are told. */
async function admitted(
  { gatekeeper, limiter }: Door,
  route: Route,
  headers: IncomingHttpHeaders,
  visit: Visit,
): Promise<Principal | Answer> {
  return permitted(gatekeeper, route, headers, visit, (principal) => {
    const wait_seconds = limiter.take(principal, rateKindOf(route.id));
    if (wait_seconds === null) return null;
    const later = { 'retry-after': String(wait_seconds) };
    return problemAnswer('RATE_LIMITED', 'This key asks more often than it may.', undefined, later);
  });
}

/** Who asks, where they may. `first`: what comes before that is looked at, once they are known. */
async function permitted(
  gatekeeper: Gatekeeper,
  route: Route,
  headers: IncomingHttpHeaders,
  visit: Visit,
  first: (principal: Principal) => Answer | null = () => null,
): Promise<Principal | Answer> {
  if (route.action === 'public') return OPEN_PRINCIPAL;
  const found = await gatekeeper.authenticate({ authorization: headers.authorization });
  if (isRefusal(found)) return problemAnswer(found.code, found.detail);
  visit.principal = found;
  if (route.tenant === 'own') visit.tenant_id = ownTenant(found, headers['x-genesis-tenant']);
  const refused = first(found);
  if (refused !== null) return refused;
  switch (authorize(found, route.action, visit.tenant_id)) {
    case 'allowed':
      return found;
    case 'hidden':
      return nothingHere([]);
    case 'forbidden':
      return problemAnswer('FORBIDDEN', forbidden(found, visit.tenant_id));
  }
}

const forbidden = ({ role }: Principal, tenant_id: string | null): string =>
  tenant_id === null
    ? 'This concerns the whole platform, and your credential belongs to a tenant. Use a key of the platform: gen key create --role operator.'
    : `The role ${role} may not do this. Ask an admin of the tenant.`;

/** Whoever may speak for several tenants says for which. */
const ownTenant = ({ tenant_id }: Principal, named: string | string[] | undefined): string =>
  typeof named === 'string' && named !== '' ? named : (tenant_id ?? OWN_TENANT_DEFAULT);

function readQuery(route: Route, request: Request): { value: Record<string, unknown> } | { refusal: Answer } {
  if (route.query === undefined) return { value: {} };
  const read = readWith(route.query, request.req.query(), 'query');
  return isProblem(read) ? { refusal: answer(read) } : { value: read };
}

/** Half an escape is no name of anything. */
function badPath(request: Request): Answer | null {
  const { url = '/' } = request.env.incoming;
  if (!url.includes('%')) return null;
  try {
    decodeURIComponent(url.split('?', 1)[0] ?? '');
    return null;
  } catch {
    return problemAnswer('INVALID_REQUEST', 'path: expected % followed by two hexadecimal digits, in UTF-8');
  }
}

function nothingHere(allowed: readonly string[]): Answer {
  if (allowed.length === 0) return problemAnswer('NOT_FOUND', 'There is nothing here, or nothing of yours.');
  const allow = [...new Set(allowed)].sort().join(', ');
  return problemAnswer('METHOD_NOT_ALLOWED', `This path takes ${allow}.`, undefined, { allow });
}

/** A problem repeats the id of its request, so that whoever sent many knows which. */
function withRequestId(said: Answer, body: unknown): Answer {
  const { request_id } = (body ?? {}) as { request_id?: unknown };
  const isNamed = typeof request_id === 'string' && request_id.length <= 128;
  if (!isNamed || said.headers['content-type'] !== 'application/problem+json') return said;
  return { ...said, body: JSON.stringify({ ...JSON.parse(said.body as string), request_id }) };
}

/** What should not have happened. The caller learns an id to ask about; what it was is for the log alone. */
function broken(error: unknown, { log, errorLog }: Door, route: Route | null): Answer {
  if (error instanceof ClientGone) return problemAnswer('TIMEOUT', 'The request ended before its body did.');
  if (error instanceof StoreUnavailable) {
    return problemAnswer('UNAVAILABLE', 'Nothing happened: the store cannot be reached. Try again.');
  }
  const damaged = error instanceof LogDamaged ? storeProblem(error) : null;
  if (damaged !== null) return answer(damaged);
  const error_id = crypto.randomUUID();
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const line = { level: 'error', error_id, route: route?.id ?? null, error: what } as const;
  for (const sink of new Set([errorLog, log])) sink?.(line);
  if (error instanceof StoreBroken) {
    return problemAnswer('UNKNOWN', `It may have happened: retry with the same request_id. (${error_id})`);
  }
  return problemAnswer('INTERNAL', `This is a fault of the server. Tell its operator: ${error_id}.`);
}

function responseOf({ status, headers, body }: Answer, { house }: Door): Response {
  const last = house.stopping.aborted ? { ...headers, connection: 'close' } : headers;
  return new Response(body as string | Uint8Array<ArrayBuffer>, { status, headers: last });
}

const patternOf = (path: string): RegExp => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`);
