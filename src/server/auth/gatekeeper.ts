import type { KeyRing } from '../../coordinator/index.js';
import { PLATFORM_TENANT, TENANT_PROJECT } from '../../core/subject.js';
import type { Store } from '../../stores/store.js';
import { isLoopback } from '../open-door.js';
import { findKey, isKeyToken, keyIdOf } from './api-keys.js';
import { bearerToken } from './bearer.js';
import { CredentialWatch } from './credential-watch.js';
import { openTokenReader, type TokenReader } from './jwt.js';
import type { JwtOptions } from './options.js';
import { OPEN_PRINCIPAL, type Principal } from './principal.js';
import { privateGatekeeper } from './private-token.js';
import { type AuthRefusal, unauthenticated } from './refusal.js';

export { callerOf } from './caller-of.js';
export { type AuthRefusal, isRefusal } from './refusal.js';

/** Finds out who asks. What they may do is not its business: authorize.ts decides that. */
export interface Gatekeeper {
  /** Nobody has to say who they are: loopback, no key made, no tokens configured. It ends with the first key. */
  readonly open: boolean;
  authenticate(request: { readonly authorization: string | undefined }): Promise<Principal | AuthRefusal>;
  /** Whether the credential that a principal was authenticated by is valid now. */
  isValid(principal: Principal): boolean;
  /** Calls `onInvalid` once, when that credential stops being valid. Returns a function that stops watching. */
  watch(principal: Principal, onInvalid: () => void): () => void;
}

const NO_CREDENTIAL = 'Send a key or a token, as: Authorization: Bearer <token>.';
const notOpen = (host: string): string =>
  `The server does not start on ${host} without authentication. Create a key first (gen key create), configure JWT, or listen on 127.0.0.1.`;

interface Front {
  readonly host: string;
  readonly private_token?: string | undefined;
  readonly jwt?: JwtOptions | undefined;
}

const canBeOpen = ({ host, jwt }: Front): boolean => jwt === undefined && isLoopback(host);
const KEYS_LOG = { tenant_id: PLATFORM_TENANT, project_id: TENANT_PROJECT };

/** Whether the server will be open when it starts: asked of the store itself, before there is a coordinator on it. */
export async function startsOpen({ store, ...front }: Front & { readonly store: Store }): Promise<boolean> {
  if (!canBeOpen(front)) return false;
  const made = await store.events(KEYS_LOG, { types: ['KEY_CREATED'], after: 0, limit: 1 });
  return made.length === 0;
}

/** Throws where the server would listen beyond this machine and could know nobody. */
export async function openGatekeeper(options: Front & { readonly keys: KeyRing }): Promise<Gatekeeper> {
  const { keys, host, jwt, private_token } = options;
  if (private_token !== undefined) return privateGatekeeper(private_token);
  const tokens = jwt === undefined ? null : await openTokenReader(jwt);
  const mayBeOpen = canBeOpen({ host, jwt });
  if (tokens === null && !mayBeOpen && !keys.any) throw new Error(notOpen(host));
  return new Door(keys, tokens, mayBeOpen);
}

class Door implements Gatekeeper {
  private closed = false;
  private readonly credentials: CredentialWatch;

  constructor(
    private readonly keys: KeyRing,
    private readonly tokens: TokenReader | null,
    private readonly mayBeOpen: boolean,
  ) {
    this.credentials = new CredentialWatch(keys, this);
  }

  get open(): boolean {
    if (this.closed) return false;
    this.closed = !this.mayBeOpen || this.keys.any;
    return !this.closed;
  }

  async authenticate({ authorization = '' }: { authorization: string | undefined }) {
    if (this.open) return OPEN_PRINCIPAL;
    const token = bearerToken(authorization);
    if (token === undefined) return unauthenticated(NO_CREDENTIAL);
    if (isKeyToken(token)) return findKey(this.keys, token);
    return this.tokens === null ? unauthenticated(NO_CREDENTIAL) : this.tokens.read(token);
  }

  isValid(principal: Principal): boolean {
    switch (principal.kind) {
      case 'open':
        return this.open;
      // Only a private listener lets in its owner.
      case 'owner':
        return false;
      case 'key':
        return this.keys.isActive(keyIdOf(principal));
      case 'jwt':
        return (this.expiresInMs(principal) ?? 0) > 0;
    }
  }

  expiresInMs(principal: Principal): number | null {
    if (principal.kind === 'key') return this.keys.expiresInMs(keyIdOf(principal));
    return principal.expires_at_ms === undefined ? null : principal.expires_at_ms - Date.now();
  }

  watch(principal: Principal, onInvalid: () => void): () => void {
    return this.credentials.watch(principal, onInvalid);
  }
}
