/** Authentication settings, in addition to the API keys in the store. */
export interface AuthOptions {
  /**
   * Token of a private listener for one local user, from `newPrivateToken()`. Its bearer may do everything; no other
   * credential is accepted, and the server is never open.
   */
  readonly private_token?: string;
  readonly jwt?: JwtOptions;
  readonly rate_limits?: Partial<RateLimits>;
}

export interface JwtOptions {
  /** The issuer's public keys: a file path or an https URL. */
  readonly jwks: string;
  readonly issuer: string;
  readonly audience: string;
  /** Maximum lifetime, counted from `iat` and from now; longer tokens are refused. */
  readonly max_lifetime_seconds?: number;
  readonly tenant_claim?: string;
  readonly role_claim?: string;
  readonly user_claim?: string;
}

export const JWT_DEFAULTS = {
  max_lifetime_seconds: 900,
  tenant_claim: 'tenant_id',
  role_claim: 'role',
  user_claim: 'sub',
} as const;

/**
 * Token bucket settings per key: requests per second, and burst after a pause. Enough for a fleet of a thousand agents
 * on one key.
 */
export const DEFAULT_RATE_LIMITS = {
  requests_per_second: 2000,
  requests_burst: 4000,
  renewals_per_second: 2000,
  renewals_burst: 4000,
};
export type RateLimits = Readonly<typeof DEFAULT_RATE_LIMITS>;
