import type { Action, Principal, Role } from './principal.js';

const MAY: Readonly<Record<Role, ReadonlySet<Action>>> = {
  viewer: new Set<Action>(['read']),
  agent: new Set<Action>(['read', 'work', 'tell']),
  reviewer: new Set<Action>(['read', 'review', 'tell']),
  admin: new Set<Action>(['read', 'work', 'tell', 'review', 'operate', 'administer']),
  operator: new Set<Action>(['read', 'work', 'tell', 'review', 'operate', 'administer']),
};

export const may = (role: Role, action: Action): boolean => MAY[role].has(action);

/**
 * Who may do what: the one place that says so. `tenant_id` is the tenant the request is about, or null where it is
 * about the platform. Another's tenant is `hidden`, so that it looks like one that does not exist; what the own
 * tenant has but the role may not do is `forbidden`.
 */
export function authorize(
  principal: Principal,
  action: Action,
  tenant_id: string | null,
): 'allowed' | 'hidden' | 'forbidden' {
  if (action === 'public') return 'allowed';
  if (tenant_id === null) return principal.role === 'operator' ? 'allowed' : 'forbidden';
  if (principal.tenant_id !== null && principal.tenant_id !== tenant_id) return 'hidden';
  return may(principal.role, action) ? 'allowed' : 'forbidden';
}
