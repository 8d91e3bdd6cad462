import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { Caller } from '../coordinator/caller.js';
import type { Coordinator } from '../coordinator/coordinator.js';
import type { ProjectKey, Store } from '../stores/store.js';
import type { Authorization } from './auth/authorization.js';
import type { Action, Principal } from './auth/principal.js';
import type { Readiness } from './readiness.js';
import type { HttpResponse } from './response.js';
import type { ProjectFeeds } from './stream.js';

/** What a route has at hand. */
export interface ServerContext {
  readonly coordinator: Coordinator;
  readonly store: Store;
  readonly feeds: ProjectFeeds;
  readonly readiness: Readiness;
  /** The numbers, as Prometheus reads them. */
  readonly metrics: () => Promise<string>;
  /** Aborted when the server is asked to stop: whoever waits, waits no longer. */
  readonly stopping: AbortSignal;
}

/** One request, read and let in. */
export interface RequestContext<Query = Record<string, unknown>> {
  readonly context: ServerContext;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** As JSON says it; the text of a plan in YAML; or the bytes of a blob. Undefined where the route takes none. */
  readonly body: unknown;
  readonly principal: Principal;
  /** The tenant it is about; empty where it is about the platform. */
  readonly tenant_id: string;
  readonly caller: Caller;
  /** A key can be revoked or expire while its request goes on. */
  readonly authorization: Authorization;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

/**
 * `json`: a command, checked by the coordinator; it is small, unless `bytes_max` says how large. `is_document`: a large one
 * comes as text, to be read in a thread. `plan`: JSON, in the same way, or YAML. `bytes`: as they are.
 */
export type RouteBody =
  | {
      readonly kind: 'json';
      readonly schema: z.ZodType;
      readonly bytes_max?: number;
      readonly is_document?: true;
    }
  | { readonly kind: 'plan'; readonly schema: z.ZodType }
  | { readonly kind: 'bytes' };

/** A schema, where the answer is JSON; else what it is. */
export type ReplySchema = z.ZodType | { readonly content_type: string };

/** The route has answered by itself, on the socket. */
export const STREAMED = 'streamed';

export interface Route<Query = Record<string, unknown>> {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With `{param}`s. `{tenant_id}` is the tenant the request is about. */
  readonly path: string;
  /** The path names no tenant: it is about that of the caller. */
  readonly tenant?: 'own';
  readonly action: Action;
  readonly summary: string;
  readonly query?: z.ZodType<Query>;
  readonly body?: RouteBody;
  readonly reply: ReplySchema;
  /** Where the body names what it is about, if not at its top. For the log of accesses. */
  readonly about?: (body: unknown) => unknown;
  /** It can be refused by the rules: then the reply comes with another status. */
  readonly isRefusable?: true;
  readonly run: (ask: RequestContext<Query>) => Promise<HttpResponse | typeof STREAMED>;
}

/** Keeps the type of the query within the route, and out of the table. */
export const defineRoute = <Query>(route: Route<Query>): Route => route as unknown as Route;

export const TENANT_PATH = '/api/tenants/{tenant_id}';
export const PROJECT_PATH = `${TENANT_PATH}/projects/{project_id}`;

export const pathParam = (request: Pick<RequestContext, 'params'>, name: string): string =>
  request.params[name] ?? '';

export const projectKeyOf = (request: Pick<RequestContext, 'params'>): ProjectKey => ({
  tenant_id: pathParam(request, 'tenant_id'),
  project_id: pathParam(request, 'project_id'),
});
