import { isProblem, type Problem } from '../../coordinator/wire/problem.js';
import type { Authenticator } from '../auth/authenticator.js';
import { Authorization } from '../auth/authorization.js';
import { authorize } from '../auth/authorize.js';
import type { Principal } from '../auth/principal.js';
import { type RateLimiter, rateKindOf } from '../auth/rate-limit.js';
import { type HttpResponse, notFoundResponse, problemResponse, toResponse } from '../response.js';
import type { ApiCall } from '../route.js';

const DEFAULT_TENANT_ID = 'default';

/** Null on public routes. */
type IdentifiedPrincipal = Principal | Problem | null;

export function identify(
  { route, connection, callingPrincipal }: ApiCall,
  authenticator: Authenticator,
): IdentifiedPrincipal | Promise<IdentifiedPrincipal> {
  if (route.action === 'public') return null;
  return callingPrincipal ?? authenticator.authenticate(connection.header('authorization'));
}

/** Records who the caller is, and how to check later that it still may. */
export function authenticate(
  call: ApiCall,
  found: IdentifiedPrincipal,
  authenticator: Authenticator,
): HttpResponse | null {
  const refusal = recordPrincipal(call, found);
  const isStillAllowed = async () =>
    (recordPrincipal(call, await identify(call, authenticator)) ?? requirePermission(call)) === null;
  call.authorization = new Authorization(authenticator, call.principal, isStillAllowed);
  return refusal;
}

function recordPrincipal(call: ApiCall, found: IdentifiedPrincipal): HttpResponse | null {
  if (found === null) return null;
  if (isProblem(found)) return toResponse(found);
  call.authenticated = found;
  // A principal of several tenants selects one by header.
  if (call.route.tenant === 'own')
    call.tenantId = call.connection.header('x-genesis-tenant') || (found.tenant_id ?? DEFAULT_TENANT_ID);
  return null;
}

/** Runs before the permission check, so that a caller cannot probe its permissions without limit. */
export function limitRate(call: ApiCall, rateLimiter: RateLimiter): HttpResponse | null {
  const { authenticated, callingPrincipal, route } = call;
  if (authenticated === null || callingPrincipal !== null) return null;
  const waitSeconds = rateLimiter.takeToken(authenticated, rateKindOf(route.id));
  if (waitSeconds === null) return null;
  const detail = 'Rate limit exceeded for this key. Retry after the time in Retry-After.';
  return problemResponse('RATE_LIMITED', detail, undefined, { 'retry-after': String(waitSeconds) });
}

/** Refuses what the caller may not do. */
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
    ? 'This request needs a platform credential, and yours belongs to a tenant. Create an operator key: gen key create --role operator.'
    : `The role ${role} does not permit this request. Ask an admin of the tenant for a key of another role.`;
