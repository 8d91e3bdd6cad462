/** How the server knows who asks, beside the keys that its own log holds. */
export interface AuthOptions {
  readonly jwt?: JwtOptions;
  readonly rate_limits?: Partial<RateLimits>;
}

export interface JwtOptions {
  /** Where the issuer's public keys are: a path of a file, or an https URL. */
  readonly jwks: string;
  readonly issuer: string;
  readonly audience: string;
  /** A token made to live longer is refused. 900 unless said. */
  readonly max_lifetime_seconds?: number;
  readonly tenant_claim?: string;
  readonly role_claim?: string;
  readonly user_claim?: string;
}

/** Per key, in requests a second and how many may come at once. */
export interface RateLimits {
  readonly requests_per_second: number;
  readonly burst: number;
  readonly renewals_per_second: number;
  readonly renewals_burst: number;
}
