import { ROLES, type Role } from '../../core/roles.js';

export { ROLES, type Role };

/** What a route asks for. Each route names one; which role may do it is said in authorize.ts alone. */
export const ACTIONS = ['public', 'read', 'work', 'tell', 'review', 'operate', 'administer'] as const;
export type Action = (typeof ACTIONS)[number];

/** Who asks, as the gatekeeper found out. */
export interface Principal {
  readonly id: string;
  readonly kind: 'open' | 'owner' | 'key' | 'jwt';
  /** Null: every tenant. So it is in open mode, and for the operators of the platform. */
  readonly tenant_id: string | null;
  readonly role: Role;
  readonly user_id: string | null;
  /** Of a token: when it expires, by this machine's clock. A key's expiry is in the key ring. */
  readonly expires_at_ms?: number;
}

/**
 * The bearer of a private listener's token: the user whose workspace it is. The id is that of open mode, since requests
 * are remembered by it: one that was sent here may be repeated to an open `gen up` of the same workspace.
 */
export const OWNER_PRINCIPAL: Principal = {
  id: 'open',
  kind: 'owner',
  tenant_id: null,
  role: 'operator',
  user_id: null,
};

/** Whoever comes to a server that is open. */
export const OPEN_PRINCIPAL: Principal = {
  id: 'open',
  kind: 'open',
  tenant_id: null,
  role: 'operator',
  user_id: null,
};
