import type { Principal } from './principal.js';

/** Authentication failed, or cannot be checked now. Rendered as a problem with this status and code. */
export interface AuthRefusal {
  readonly status: 401 | 503;
  readonly code: 'UNAUTHENTICATED' | 'UNAVAILABLE';
  readonly detail: string;
}

export const isAuthRefusal = (found: Principal | AuthRefusal): found is AuthRefusal => 'status' in found;

export const unauthenticated = (detail: string): AuthRefusal => ({
  status: 401,
  code: 'UNAUTHENTICATED',
  detail,
});
