import { DEFAULT_RATE_LIMITS, type RateLimits } from './options.js';
import type { Principal } from './principal.js';

/** Renewals have a bucket of their own: a key that asks too much must not lose the work it has for it. */
export type RateKind = 'requests' | 'renewals';

const RENEWAL_ROUTES: ReadonlySet<string> = new Set(['renew_lease', 'renew_batch']);
export const rateKindOf = (routeId: string): RateKind =>
  RENEWAL_ROUTES.has(routeId) ? 'renewals' : 'requests';

interface Bucket {
  tokens: number;
  at_ms: number;
}

const PRINCIPALS_MAX = 10_000;

/** A bucket per key and kind: each request takes a token, and time gives them back. */
export class RateLimiter {
  private readonly limits: RateLimits;
  private readonly buckets: Readonly<Record<RateKind, Map<string, Bucket>>> = {
    requests: new Map(),
    renewals: new Map(),
  };

  constructor(
    limits: Partial<RateLimits> = {},
    /** Milliseconds of a clock that never steps back. */
    private readonly now: () => number = () => performance.now(),
  ) {
    this.limits = { ...DEFAULT_RATE_LIMITS, ...limits };
  }

  /** Null: go on. Else how many whole seconds to wait. Nobody is counted on an open server. */
  take(principal: Principal, kind: RateKind): number | null {
    if (principal.kind === 'open') return null;
    const perSecond = this.limits[`${kind}_per_second`];
    const bucket = this.bucketOf(principal.id, kind, perSecond);
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1;
      return null;
    }
    return Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond));
  }

  /** How many keys have a bucket now. */
  get bucketCount(): number {
    return this.buckets.requests.size;
  }

  private bucketOf(id: string, kind: RateKind, perSecond: number): Bucket {
    const buckets = this.buckets[kind];
    const burst = this.limits[`${kind}_burst`];
    const nowMs = this.now();
    const bucket = buckets.get(id) ?? { tokens: burst, at_ms: nowMs };
    bucket.tokens = Math.min(burst, bucket.tokens + ((nowMs - bucket.at_ms) / 1000) * perSecond);
    bucket.at_ms = nowMs;
    // The one asked last goes to the end, so that the first is the one that has been quiet for longest.
    buckets.delete(id);
    buckets.set(id, bucket);
    if (buckets.size > PRINCIPALS_MAX) buckets.delete(buckets.keys().next().value as string);
    return bucket;
  }
}
