import { isProblem, type Problem } from '../../coordinator/wire/problem.js';
import type { Authenticator } from '../auth/authenticator.js';
import { Authorization } from '../auth/authorization.js';
import { authorize } from '../auth/authorize.js';
import type { Principal } from '../auth/principal.js';
import { type RateLimiter, rateKindOf } from '../auth/rate-limit.js';
import { type HttpResponse, notFoundResponse, problemResponse, toResponse } from '../response.js';
import type { ApiCall } from '../route.js';

const DEFAULT_TENANT_ID = 'default';

/** The principal, or the problem of its credential; null on public routes. */
type AuthenticationResult = Principal | Problem | null;

export function authenticate(
  { route, connection, outerPrincipal }: ApiCall,
  authenticator: Authenticator,
): AuthenticationResult | Promise<AuthenticationResult> {
  if (route.action === 'public') return null;
  return outerPrincipal ?? authenticator.authenticate(connection.header('authorization'));
}

/**
 * Records the caller in the call, with an `Authorization` that can check later whether the caller is still permitted.
 * Returns the refusal if the credential is missing or not valid.
 */
export function setCaller(
  call: ApiCall,
  authentication: AuthenticationResult,
  authenticator: Authenticator,
): HttpResponse | null {
  const refusal = recordPrincipal(call, authentication);
  const isStillAllowed = async () =>
    (recordPrincipal(call, await authenticate(call, authenticator)) ?? requirePermission(call)) === null;
  call.authorization = new Authorization(authenticator, call.principal, isStillAllowed);
  return refusal;
}

function recordPrincipal(call: ApiCall, authentication: AuthenticationResult): HttpResponse | null {
  if (authentication === null) return null;
  if (isProblem(authentication)) return toResponse(authentication);
  call.authenticatedPrincipal = authentication;
  // A principal of several tenants selects one by header.
  if (call.route.tenant === 'own')
    call.tenantId =
      call.connection.header('x-genesis-tenant') || (authentication.tenant_id ?? DEFAULT_TENANT_ID);
  return null;
}

/** Runs before the permission check, so that a caller cannot probe its permissions without limit. */
export function limitRate(call: ApiCall, rateLimiter: RateLimiter): HttpResponse | null {
  const { authenticatedPrincipal, outerPrincipal, route } = call;
  if (authenticatedPrincipal === null || outerPrincipal !== null) return null;
  const waitSeconds = rateLimiter.takeToken(authenticatedPrincipal, rateKindOf(route.id));
  if (waitSeconds === null) return null;
  const detail = 'Rate limit exceeded for this key. Retry after the time in Retry-After.';
  return problemResponse('RATE_LIMITED', detail, undefined, { 'retry-after': String(waitSeconds) });
}

/** Refuses a request that the caller may not make. */
export function requirePermission({ principal, route, tenantId }: ApiCall): HttpResponse | null {
  switch (authorize(principal, route.action, tenantId)) {
    case 'allowed':
      return null;
    case 'hidden':
      return notFoundResponse([]);
    case 'forbidden':
      return problemResponse('FORBIDDEN', forbiddenDetail(principal, tenantId));
  }
}

const forbiddenDetail = ({ role }: Principal, tenantId: string | null): string =>
  tenantId === null
    ? 'This request concerns the whole server, and your credential belongs to one tenant. Ask an operator of the server for an operator key (gen key create --role operator).'
    : `The role ${role} does not permit this request. Ask an admin of the tenant for a key of another role.`;
