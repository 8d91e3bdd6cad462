import type { Context } from 'hono';
import type { Authorization } from './auth/authorization.js';
import { OPEN_PRINCIPAL, type Principal } from './auth/principal.js';
import type { BodyReservation } from './body-memory.js';
import { FetchConnection, type RequestConnection } from './connection.js';
import type { Route } from './route.js';

/** What an adapter passes with a request. */
export interface AppBindings {
  readonly connection?: RequestConnection;
  /** The caller of a call that one of our own routes makes; it is authenticated, counted and logged already. */
  readonly principal?: Principal;
}
export type AppContext = Context<{ Bindings: AppBindings }>;

/** Without an adapter that passes a connection, the request itself is all there is. */
export const connectionOf = (c: AppContext): RequestConnection =>
  c.env?.connection ?? new FetchConnection(c.req.raw);

/** What is known about a request. Each middleware adds its part. */
export class RequestScope {
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
  readonly connection: RequestConnection;
  /** Null unless one of our own routes makes the call. */
  readonly callingPrincipal: Principal | null;
  /** The tenant the request is about; null for the platform. */
  tenantId: string | null;
  /** Null until authenticated, and on public routes. */
  principal: Principal | null = null;
  authorization!: Authorization;
  query: Record<string, unknown> = {};
  body: unknown;
  /** The memory of the body, released with the response. */
  bodyReservation: BodyReservation | null = null;
  /** The part of the body that names its subject, for the access log. */
  logged: unknown;

  constructor(
    readonly route: Route,
    private readonly c: AppContext,
  ) {
    this.request = c.req.raw;
    this.params = c.req.param();
    this.connection = connectionOf(c);
    this.callingPrincipal = c.env?.principal ?? null;
    this.tenantId = this.params.tenant_id ?? null;
  }

  get caller(): Principal {
    return this.principal ?? OPEN_PRINCIPAL;
  }

  queryFields(): Record<string, string> {
    return this.c.req.query();
  }
}
