import type { z } from 'zod';
import type { Caller } from '../coordinator/authentication/caller.js';
import type { Coordinator } from '../coordinator/coordinator.js';
import type { IdentifiedOperation } from '../core/contract/operation.js';
import type { OPERATIONS, OperationId } from '../core/contract/operations.js';
import type { ProjectKey } from '../stores/store.js';
import type { Authorization } from './auth/authorization.js';
import { callerOf } from './auth/authorize.js';
import { OPEN_PRINCIPAL, type Principal } from './auth/principal.js';
import { type BodyMemory, BodyReservation, FREE_BYTES_PER_BODY } from './body-memory.js';
import { FetchConnection, type RequestConnection } from './connection.js';
import type { ProjectFeeds } from './project-feeds.js';
import type { ReadinessProbe } from './readiness.js';
import { type HttpResponse, toResponse } from './response.js';

/** Dependencies of the routes. */
export interface ServerContext {
  readonly coordinator: Coordinator;
  readonly feeds: ProjectFeeds;
  readonly readiness: ReadinessProbe;
  /** The metrics in Prometheus text format. */
  readonly metrics: () => Promise<string>;
  /** Aborted when the server stops, which ends waiting calls. */
  readonly stopping: AbortSignal;
  readonly bodyMemory: BodyMemory;
}

/** A request, wherever it came from. */
export interface IncomingRequest {
  readonly method: string;
  readonly path: string;
  /** The query with its question mark, or empty. */
  readonly search: string;
  readonly connection: RequestConnection;
  /** The route of the request, if the adapter has already matched it. */
  readonly match?: RouteMatch;
  /** The caller, if a route of this server makes the call. The outer call is already authenticated, counted and logged. */
  readonly principal?: Principal;
}

export interface App {
  /** The route of a request; null if there is none, or if the path or the query is malformed. */
  match(request: Pick<IncomingRequest, 'method' | 'path' | 'search'>): RouteMatch | null;
  /** Answers a request. Never rejects. */
  respond(request: IncomingRequest): Promise<HttpResponse>;
  /** Answers a request that came without a socket, or as part of another call. */
  fetch(
    request: Request,
    bindings?: Partial<Pick<IncomingRequest, 'connection' | 'principal'>>,
  ): Promise<Response>;
  /** `fetch` for a path of this app. */
  request(path: string, init?: RequestInit): Promise<Response>;
}

/** A call of a route. Each middleware adds its part, so that the handler gets an authenticated and validated call. */
export class ApiCall<Query = Record<string, unknown>> {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
  readonly connection: RequestConnection;
  /** The principal of the outer call, if a route of this server makes this call; otherwise null. */
  readonly outerPrincipal: Principal | null;
  /** The tenant the call is about; null for the platform. */
  tenantId: string | null;
  /** Null until authenticated, and on public routes. */
  authenticatedPrincipal: Principal | null = null;
  /** Re-checks the credential, which can be revoked or expire during the call. */
  authorization!: Authorization;
  query = {} as Query;
  /**
   * The parsed JSON, a large JSON document as `UnparsedJson`, the text of a YAML plan, the fields of a form, or the bytes of a
   * blob. Undefined if the route takes no body.
   */
  body: unknown;
  /** The memory of the body, released with the response. */
  bodyReservation: BodyReservation | null = null;
  private responseReservation: BodyReservation | null = null;
  /** The fields for the access log, if they are not at the top level of the body. */
  loggedFields: unknown;

  constructor(
    { route, params }: RouteMatch,
    readonly context: ServerContext,
    private readonly app: App,
    readonly request: IncomingRequest,
  ) {
    this.route = route;
    this.params = params;
    this.connection = request.connection;
    this.outerPrincipal = request.principal ?? null;
    this.tenantId = params.tenant_id ?? null;
  }

  /**
   * Reserves memory for a response until the client has read it; false if there is too little. The app calls it for every
   * response. A route that builds a large response calls it before.
   */
  reserveResponse(bytes: number): boolean {
    // Without a socket the response stays in this process.
    if (this.connection.destroy === null) return true;
    const existing = this.responseReservation;
    if (existing === null && bytes <= FREE_BYTES_PER_BODY) return true;
    const reservation = existing ?? new BodyReservation(this.context.bodyMemory, this.principal);
    if (!reservation.grow(bytes)) return false;
    if (existing === null && reservation.isUsed) {
      this.responseReservation = reservation;
      this.connection.onClose(() => reservation.release());
    }
    return true;
  }

  get coordinator(): Coordinator {
    return this.context.coordinator;
  }

  /** The tenant the call is about; empty for the platform. */
  get tenant(): string {
    return this.tenantId ?? '';
  }

  /** The project of the path. */
  get projectKey(): ProjectKey {
    return { tenant_id: this.tenant, project_id: this.param('project_id') };
  }

  get principal(): Principal {
    return this.authenticatedPrincipal ?? OPEN_PRINCIPAL;
  }

  get caller(): Caller {
    return callerOf(this.principal, this.connection.remoteAddress, this.authorization.isStillAuthorized);
  }

  param(name: string): string {
    return this.params[name] ?? '';
  }

  /** The first value of each field of the query. */
  queryFields(): Record<string, string> {
    return Object.fromEntries([...new URLSearchParams(this.request.search)].reverse());
  }

  /** Calls another route of this app as the same caller. */
  fetch(request: Request): Promise<Response> {
    const connection = new FetchConnection(request, this.connection);
    return this.app.fetch(request, { principal: this.principal, connection });
  }
}

/** An operation of the contract with its handler. */
export interface Route extends IdentifiedOperation {
  readonly run: (call: ApiCall) => Promise<HttpResponse>;
}

/** The route that matches a request. */
export interface RouteMatch {
  readonly route: Route;
  /** The values of the path's parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

type QueryOf<Id extends OperationId> = (typeof OPERATIONS)[Id] extends {
  query: infer Query extends z.ZodType;
}
  ? z.output<Query>
  : Record<string, unknown>;

/** Handlers of operations. Each gets the query that the operation's schema describes. */
export type Handlers<Id extends OperationId = OperationId, Reply = HttpResponse> = {
  readonly [Each in Id]: (call: ApiCall<QueryOf<Each>>) => Promise<Reply>;
};

/** Handlers that return the coordinator's reply, which is rendered as JSON: a result, a refusal or a problem. */
export function jsonHandlers<Id extends OperationId>(handlers: Handlers<Id, object>): Handlers<Id> {
  const rendered = Object.entries<(call: never) => Promise<object>>(handlers).map(([id, handle]) => [
    id,
    (call: never) => handle(call).then(toResponse),
  ]);
  return Object.fromEntries(rendered);
}
