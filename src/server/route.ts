import type { z } from 'zod';
import type { Caller } from '../coordinator/authentication/caller.js';
import type { Coordinator } from '../coordinator/coordinator.js';
import type { IdentifiedOperation } from '../core/contract/operation.js';
import type { OPERATIONS, OperationId } from '../core/contract/operations.js';
import type { ProjectKey, Store } from '../stores/store.js';
import type { Authorization } from './auth/authorization.js';
import type { Principal } from './auth/principal.js';
import type { RequestConnection } from './connection.js';
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
  readonly request: Request;
  readonly connection: RequestConnection;
  /** Calls another route of this app as the same caller. */
  readonly fetch: (request: Request) => Response | Promise<Response>;
}

/** An operation of the contract with its handler. */
export interface Route extends IdentifiedOperation {
  /** Extracts the subject fields for the access log, if they are not at the body's top level. */
  readonly about?: (body: unknown) => unknown;
  readonly run: (request: RequestContext) => Promise<HttpResponse>;
}

type QueryOf<Id extends OperationId> = (typeof OPERATIONS)[Id] extends {
  query: infer Query extends z.ZodType;
}
  ? z.output<Query>
  : Record<string, unknown>;

/** A handler for each operation. It gets the query that the operation's schema describes. */
export type Handlers = {
  readonly [Id in OperationId]: (request: RequestContext<QueryOf<Id>>) => Promise<HttpResponse>;
};

export const pathParam = (request: Pick<RequestContext, 'params'>, name: string): string =>
  request.params[name] ?? '';

export const projectKeyOf = (request: Pick<RequestContext, 'params'>): ProjectKey => ({
  tenant_id: pathParam(request, 'tenant_id'),
  project_id: pathParam(request, 'project_id'),
});
