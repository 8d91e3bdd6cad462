import { ROLES, type Role } from '../../core/roles.js';

export { ROLES, type Role };

/** What a route asks for. Each route names one; which role may do it is said in authorize.ts alone. */
export const ACTIONS = ['public', 'read', 'work', 'tell', 'review', 'operate', 'administer'] as const;
export type Action = (typeof ACTIONS)[number];

/** Who asks, as the gatekeeper found out. */
export interface Principal {
  readonly id: string;
  readonly kind: 'open' | 'key' | 'jwt';
  /** Null: every tenant. So it is in open mode, and for the operators of the platform. */
  readonly tenant_id: string | null;
  readonly role: Role;
  readonly user_id: string | null;
}

/** Whoever comes to a server that is open. */
export const OPEN_PRINCIPAL: Principal = {
  id: 'open',
  kind: 'open',
  tenant_id: null,
  role: 'operator',
  user_id: null,
};
