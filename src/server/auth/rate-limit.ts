import type { Principal } from './principal.js';

/**
 * Token bucket settings per key: requests per second, and burst after a pause. Enough for a fleet of a thousand agents
 * on one key.
 */
const DEFAULT_RATE_LIMITS = {
  requests_per_second: 2000,
  requests_burst: 4000,
  renewals_per_second: 2000,
  renewals_burst: 4000,
};
export type RateLimits = Readonly<typeof DEFAULT_RATE_LIMITS>;

/** Renewals have their own bucket, so that a key over its request limit does not lose its claims. */
type RateKind = 'requests' | 'renewals';

const RENEWAL_ROUTES: ReadonlySet<string> = new Set(['renew_lease', 'renew_batch']);
export const rateKindOf = (routeId: string): RateKind =>
  RENEWAL_ROUTES.has(routeId) ? 'renewals' : 'requests';

interface Bucket {
  tokens: number;
  filled_at_ms: number;
}

const PRINCIPALS_MAX = 10_000;

/** Token buckets per principal and kind. */
export class RateLimiter {
  private readonly limits: RateLimits;
  private readonly buckets: Readonly<Record<RateKind, Map<string, Bucket>>> = {
    requests: new Map(),
    renewals: new Map(),
  };

  constructor(
    limits: Partial<RateLimits> = {},
    /** Monotonic clock in milliseconds. */
    private readonly now: () => number = () => performance.now(),
  ) {
    this.limits = { ...DEFAULT_RATE_LIMITS, ...limits };
  }

  /** Returns null if the request is allowed, otherwise the whole seconds to wait. In open mode there is no limit. */
  takeToken(principal: Principal, kind: RateKind): number | null {
    if (principal.kind === 'open') return null;
    const perSecond = this.limits[`${kind}_per_second`];
    const bucket = this.bucketOf(principal.id, kind, perSecond);
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1;
      return null;
    }
    return Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond));
  }

  /** Number of principals with a bucket for requests. */
  get bucketCount(): number {
    return this.buckets.requests.size;
  }

  private bucketOf(id: string, kind: RateKind, perSecond: number): Bucket {
    const buckets = this.buckets[kind];
    const burst = this.limits[`${kind}_burst`];
    const nowMs = this.now();
    const bucket = buckets.get(id) ?? { tokens: burst, filled_at_ms: nowMs };
    bucket.tokens = Math.min(burst, bucket.tokens + ((nowMs - bucket.filled_at_ms) / 1000) * perSecond);
    bucket.filled_at_ms = nowMs;
    // Reinserted at the end, so that the map's first entry is the least recently used.
    buckets.delete(id);
    buckets.set(id, bucket);
    if (buckets.size > PRINCIPALS_MAX) buckets.delete(buckets.keys().next().value as string);
    return bucket;
  }
}
