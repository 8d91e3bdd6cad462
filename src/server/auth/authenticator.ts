import type { KeyRing, Problem } from '../../coordinator/index.js';
import { PLATFORM_TENANT, TENANT_PROJECT } from '../../core/subject.js';
import type { Store } from '../../stores/store.js';
import { isLoopback } from '../loopback.js';
import { apiKeyIdOf, authenticateKey, isKeyToken } from './api-keys.js';
import { createCredentialWatch } from './credential-watch.js';
import { type JwtOptions, openTokenVerifier, type VerifyToken } from './jwt.js';
import { bearerToken, OPEN_PRINCIPAL, type Principal, unauthenticated } from './principal.js';
import { privateTokenAuthenticator } from './private-token.js';
import type { RateLimits } from './rate-limit.js';

/** Authentication settings, in addition to the API keys in the store. */
export interface AuthOptions {
  /**
   * Token of a private listener for one local user, from `newPrivateToken()`. Its bearer may do everything. No other
   * credential is accepted, and the server is never in open mode.
   */
  readonly private_token?: string;
  readonly jwt?: JwtOptions;
  readonly rate_limits?: Partial<RateLimits>;
}

/** Identifies the caller. What the caller may do is decided in authorize.ts. */
export interface Authenticator {
  /** Whether requests need no credential: loopback, no key created, no JWT configured. Ends with the first key. */
  readonly isInOpenMode: boolean;
  /** Returns a promise only if it must fetch or verify something: awaiting costs more than most checks. */
  authenticate(authorization: string | null): Principal | Problem | Promise<Principal | Problem>;
  /** Whether the principal's credential is still valid. */
  isValid(principal: Principal): boolean;
  /** Calls `onInvalid` once, when the credential becomes invalid. Returns a function that stops watching. */
  watch(principal: Principal, onInvalid: () => void): () => void;
}

const NO_CREDENTIAL = 'Authentication required. Send a key or a token: Authorization: Bearer <token>.';

type AuthenticatorOptions = AuthOptions & { readonly host: string };

const isOpenModePossible = ({ host, jwt }: AuthenticatorOptions): boolean =>
  jwt === undefined && isLoopback(host);
const KEYS_LOG = { tenant_id: PLATFORM_TENANT, project_id: TENANT_PROJECT };

/**
 * Whether the server will start in open mode, or would without a private token. Reads the store directly, before a
 * coordinator exists.
 */
export async function isInOpenModeAtStart({
  store,
  ...options
}: AuthenticatorOptions & { readonly store: Store }): Promise<boolean> {
  if (!isOpenModePossible(options)) return false;
  const createdKeys = await store.events(KEYS_LOG, { types: ['KEY_CREATED'], after: 0, limit: 1 });
  return createdKeys.length === 0;
}

/** Throws if the server would listen beyond loopback without any way to authenticate. */
export async function openAuthenticator(
  options: AuthenticatorOptions & { readonly keys: KeyRing },
): Promise<Authenticator> {
  const { keys, host, jwt, private_token } = options;
  if (private_token !== undefined) return privateTokenAuthenticator(private_token);
  const verifyToken = jwt === undefined ? null : await openTokenVerifier(jwt);
  const canBeInOpenMode = isOpenModePossible(options);
  if (verifyToken === null && !canBeInOpenMode && !keys.hasAnyKey)
    throw new Error(
      `The server does not start on ${host} without authentication. Create a key first (gen key create), configure JWT, or listen on 127.0.0.1.`,
    );
  return new KeyAndTokenAuthenticator(keys, verifyToken, canBeInOpenMode);
}

class KeyAndTokenAuthenticator implements Authenticator {
  private hasLeftOpenMode = false;
  readonly watch: Authenticator['watch'];

  constructor(
    private readonly keys: KeyRing,
    private readonly verifyToken: VerifyToken | null,
    private readonly canBeInOpenMode: boolean,
  ) {
    this.watch = createCredentialWatch(keys, this);
  }

  get isInOpenMode(): boolean {
    if (this.hasLeftOpenMode) return false;
    this.hasLeftOpenMode = !this.canBeInOpenMode || this.keys.hasAnyKey;
    return !this.hasLeftOpenMode;
  }

  authenticate(authorization: string | null): Principal | Problem | Promise<Principal | Problem> {
    if (this.isInOpenMode) return OPEN_PRINCIPAL;
    const token = bearerToken(authorization ?? '');
    if (token === undefined) return unauthenticated(NO_CREDENTIAL);
    if (isKeyToken(token)) return authenticateKey(this.keys, token);
    return this.verifyToken === null ? unauthenticated(NO_CREDENTIAL) : this.verifyToken(token);
  }

  isValid(principal: Principal): boolean {
    switch (principal.kind) {
      case 'open':
        return this.isInOpenMode;
      // Only a private listener authenticates its owner.
      case 'owner':
        return false;
      case 'key':
        return this.keys.isActive(apiKeyIdOf(principal));
      case 'jwt':
        return (this.expiresInMs(principal) ?? 0) > 0;
    }
  }

  expiresInMs(principal: Principal): number | null {
    if (principal.kind === 'key') return this.keys.expiresInMs(apiKeyIdOf(principal));
    return principal.expires_at_ms === undefined ? null : principal.expires_at_ms - Date.now();
  }
}
