import { type Problem, problem } from '../../coordinator/wire/problem.js';
import { ROLES, type Role } from '../../core/roles.js';

export { ROLES, type Role };

/** The authenticated caller. */
export interface Principal {
  readonly id: string;
  readonly kind: 'open' | 'owner' | 'key' | 'jwt';
  /** Null if the caller may act in every tenant: in open mode, with a private token, and as operator of the platform. */
  readonly tenant_id: string | null;
  readonly role: Role;
  /** The name of the user or of the key; null if the credential has none. */
  readonly name: string | null;
  readonly user_id: string | null;
  /** The agent role that the credential is limited to; null if it may act in any. */
  readonly agent_role: string | null;
  /** Expiry of a JWT by the local clock. A key's expiry is in the key ring. */
  readonly expires_at_ms?: number;
}

/** The principal of every caller of a server in open mode. */
export const OPEN_PRINCIPAL: Principal = {
  id: 'open',
  kind: 'open',
  tenant_id: null,
  role: 'operator',
  name: null,
  user_id: null,
  agent_role: null,
};

/**
 * The bearer of a private listener's token: the owner of the workspace. It shares the id of open mode, under which
 * requests are remembered, so a request sent here can be repeated to an open `gen up` of the same workspace.
 */
export const OWNER_PRINCIPAL: Principal = { ...OPEN_PRINCIPAL, kind: 'owner' };

/** The problem of a caller whose credential is missing or not valid. */
export const unauthenticated = (detail: string): Problem => problem('UNAUTHENTICATED', detail);

/** The token of an `Authorization: Bearer` header; undefined if there is none. */
export const bearerToken = (authorization: string): string | undefined =>
  /^Bearer +([\x21-\x7e]+)$/i.exec(authorization)?.[1];
