import type { Caller } from '../../coordinator/authentication/caller.js';
import { ACTIONS, type Action, type IdentifiedOperation } from '../../core/contract/operation.js';
import type { Principal, Role } from './principal.js';

const ALL_GUARDED_ACTIONS: readonly Action[] = ACTIONS.filter((action) => action !== 'public');
const ROLE_ACTIONS: Readonly<Record<Role, ReadonlySet<Action>>> = {
  viewer: new Set<Action>(['read']),
  agent: new Set<Action>(['read', 'work', 'tell', 'upload']),
  runner: new Set<Action>(['read', 'upload', 'attest']),
  reviewer: new Set<Action>(['read', 'review', 'tell']),
  admin: new Set(ALL_GUARDED_ACTIONS),
  operator: new Set(ALL_GUARDED_ACTIONS),
};

const roleAllows = (role: Role, action: Action): boolean => ROLE_ACTIONS[role].has(action);

/** A platform credential has the role `operator` and no tenant. With a tenant, `operator` is an admin of that tenant. */
const isPlatformCredential = ({ role, tenant_id }: Pick<Principal, 'role' | 'tenant_id'>): boolean =>
  role === 'operator' && tenant_id === null;

/**
 * The only place that decides who may do what. `tenantId` is the tenant the request is
 * about, null for the platform. Another tenant is `hidden`: it looks like one that does
 * not exist. An action the role lacks in its own tenant is `forbidden`, and
 * so is every action on the platform by a credential of a tenant.
 */
export function authorize(
  principal: Pick<Principal, 'role' | 'tenant_id'>,
  action: Action,
  tenantId: string | null,
): 'allowed' | 'hidden' | 'forbidden' {
  if (action === 'public' || isPlatformCredential(principal)) return 'allowed';
  if (tenantId === null) return 'forbidden';
  if (principal.tenant_id !== tenantId) return 'hidden';
  return roleAllows(principal.role, action) ? 'allowed' : 'forbidden';
}

/** The ids, sorted, of the operations that the principal may call in its own tenant. */
export const allowedOperations = (
  principal: Pick<Principal, 'role' | 'tenant_id'>,
  operations: readonly IdentifiedOperation[],
): string[] =>
  operations
    .filter(({ action, path, tenant }) => {
      const isOfTenant = tenant === 'own' || path.includes('{tenant_id}');
      return authorize(principal, action, isOfTenant ? principal.tenant_id : null) === 'allowed';
    })
    .map(({ id }) => id)
    .sort();

/** The principal in the form that the coordinator uses, with the permissions of its role. */
export function callerOf(
  { id, user_id, kind, role, agent_role }: Principal,
  client_ip: string | null,
  isStillAuthorized: () => boolean,
): Caller {
  const may_administer = roleAllows(role, 'administer');
  return {
    principal: id,
    user_id,
    client_ip,
    agent_role,
    claim_id_optional: kind === 'open',
    may_work: roleAllows(role, 'work'),
    may_review: roleAllows(role, 'review'),
    may_administer,
    isStillAuthorized,
  };
}
