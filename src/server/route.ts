import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { Caller } from '../coordinator/authentication/caller.js';
import type { Coordinator } from '../coordinator/coordinator.js';
import type { ProjectKey, Store } from '../stores/store.js';
import type { Authorization } from './auth/authorization.js';
import type { Action, Principal } from './auth/principal.js';
import type { ReadinessProbe } from './readiness.js';
import type { HttpResponse } from './response.js';
import type { ProjectFeeds } from './stream.js';

/** Dependencies of the routes. */
export interface ServerContext {
  readonly coordinator: Coordinator;
  readonly store: Store;
  readonly feeds: ProjectFeeds;
  readonly readiness: ReadinessProbe;
  /** The metrics in Prometheus text format. */
  readonly metrics: () => Promise<string>;
  /** Aborted when the server stops, which ends waiting calls. */
  readonly stopping: AbortSignal;
}

/** An authenticated and validated request. */
export interface RequestContext<Query = Record<string, unknown>> {
  readonly context: ServerContext;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** The parsed JSON, the text of a YAML plan, or the bytes of a blob. Undefined if the route takes no body. */
  readonly body: unknown;
  readonly principal: Principal;
  /** The tenant the request is about; empty for the platform. */
  readonly tenant_id: string;
  readonly caller: Caller;
  /** Re-checks the credential, which can be revoked or expire during the request. */
  readonly authorization: Authorization;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

/**
 * `json`: a command, validated by the coordinator, small unless `bytes_max` is set. `is_document`: a large body
 * arrives as text, to be parsed in a thread. `plan`: the same, or YAML. `bytes`: unparsed.
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

/** The schema of a JSON reply, otherwise its content type. */
export type ReplySchema = z.ZodType | { readonly content_type: string };

/** The route has written its response to the socket itself. */
export const STREAMED = 'streamed';

export interface Route<Query = Record<string, unknown>> {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With `{param}`s. `{tenant_id}` is the tenant the request is about. */
  readonly path: string;
  /** The path names no tenant: the request is about the caller's own. */
  readonly tenant?: 'own';
  readonly action: Action;
  readonly summary: string;
  readonly query?: z.ZodType<Query>;
  readonly body?: RouteBody;
  readonly reply: ReplySchema;
  /** Extracts the subject fields for the access log, if they are not at the body's top level. */
  readonly about?: (body: unknown) => unknown;
  /** The rules may refuse it, which changes the reply's status. */
  readonly isRefusable?: true;
  readonly run: (ask: RequestContext<Query>) => Promise<HttpResponse | typeof STREAMED>;
}

/** Hides the query's type from the table, while `run` keeps it. */
export const defineRoute = <Query>(route: Route<Query>): Route => route as unknown as Route;

export const TENANT_PATH = '/api/tenants/{tenant_id}';
export const PROJECT_PATH = `${TENANT_PATH}/projects/{project_id}`;

export const pathParam = (request: Pick<RequestContext, 'params'>, name: string): string =>
  request.params[name] ?? '';

export const projectKeyOf = (request: Pick<RequestContext, 'params'>): ProjectKey => ({
  tenant_id: pathParam(request, 'tenant_id'),
  project_id: pathParam(request, 'project_id'),
});
