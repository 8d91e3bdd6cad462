import type { Principal } from './principal.js';

export { callerOf } from './principal.js';

/** Nobody that we know. The answer is a problem with this status, code and detail. */
export interface AuthRefusal {
  readonly status: 401;
  readonly code: 'UNAUTHENTICATED';
  readonly detail: string;
}

/** Finds out who asks. What they may do is not its business: authorize.ts decides that. */
export interface Gatekeeper {
  /** Nobody has to say who they are: loopback, no key made, no tokens configured. It ends with the first key. */
  readonly open: boolean;
  authenticate(request: { readonly authorization: string | undefined }): Promise<Principal | AuthRefusal>;
}

export const isRefusal = (found: Principal | AuthRefusal): found is AuthRefusal => 'status' in found;
