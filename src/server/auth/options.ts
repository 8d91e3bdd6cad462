/** How the server knows who asks, beside the keys that its own log holds. */
export interface AuthOptions {
  /**
   * The token of a private listener, from `newPrivateToken()`: it serves one user of this machine. Its bearer may do
   * everything; nobody else is let in, with a key or without, and the server is never open.
   */
  readonly private_token?: string;
  readonly jwt?: JwtOptions;
  readonly rate_limits?: Partial<RateLimits>;
}

export interface JwtOptions {
  /** Where the issuer's public keys are: the path of a file, or an https URL. */
  readonly jwks: string;
  readonly issuer: string;
  readonly audience: string;
  /** A token that lives longer, counted from `iat` or from now, is refused. */
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

/** Per key: how many requests a second, and how many at once after a pause. */
export interface RateLimits {
  readonly requests_per_second: number;
  readonly requests_burst: number;
  readonly renewals_per_second: number;
  readonly renewals_burst: number;
}

/** Enough for a fleet of a thousand on one key. */
export const DEFAULT_RATE_LIMITS: RateLimits = {
  requests_per_second: 2000,
  requests_burst: 4000,
  renewals_per_second: 2000,
  renewals_burst: 4000,
};
