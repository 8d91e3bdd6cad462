import type { Action, Principal, Role } from './principal.js';

const MAY: Readonly<Record<Role, ReadonlySet<Action>>> = {
  viewer: new Set<Action>(['read']),
  agent: new Set<Action>(['read', 'work', 'tell']),
  reviewer: new Set<Action>(['read', 'review', 'tell']),
  admin: new Set<Action>(['read', 'work', 'tell', 'review', 'operate', 'administer']),
  operator: new Set<Action>(['read', 'work', 'tell', 'review', 'operate', 'administer']),
};

export const may = (role: Role, action: Action): boolean => MAY[role].has(action);

/** A platform credential: role `operator` and no tenant. With a tenant, `operator` is the tenant's admin. */
const isPlatform = ({ role, tenant_id }: Pick<Principal, 'role' | 'tenant_id'>): boolean =>
  role === 'operator' && tenant_id === null;

/**
 * Decides who may do what; no other code does. `tenant_id` is the tenant that the request is about, null for the
 * platform. Another tenant is `hidden`, so that it looks like one that does not exist. What the role may not do in its
 * own tenant is `forbidden`.
 */
export function authorize(
  principal: Pick<Principal, 'role' | 'tenant_id'>,
  action: Action,
  tenant_id: string | null,
): 'allowed' | 'hidden' | 'forbidden' {
  if (action === 'public' || isPlatform(principal)) return 'allowed';
  if (tenant_id === null) return 'forbidden';
  if (principal.tenant_id !== tenant_id) return 'hidden';
  return may(principal.role, action) ? 'allowed' : 'forbidden';
}
