import { type CompletedRequest, REQUEST_WINDOW_MS, REQUESTS_MAX } from './store.js';

/** A request as kept in memory and in snapshots. */
export interface CachedRequest extends CompletedRequest {
  readonly at_ms: number;
}

/** Remembers the requests of a project for a time. If there are too many, the oldest are evicted first. */
export class RequestCache {
  private readonly byKey = new Map<string, CachedRequest>();
  /**
   * Oldest first, starting at `oldestIndex`. A map cannot serve as the queue: iterating it must skip its deleted front
   * each time.
   */
  private queue: CachedRequest[] = [];
  private oldestIndex = 0;

  constructor(private readonly requestsMax = REQUESTS_MAX) {}

  get(key: string): CachedRequest | undefined {
    return this.byKey.get(key);
  }

  /** The first request with a key wins. */
  remember(request: CachedRequest): void {
    if (!this.byKey.has(request.key)) this.add(request);
  }

  /** The caller has just checked that the key is unknown. */
  add(request: CachedRequest): void {
    this.byKey.set(request.key, request);
    this.queue.push(request);
    this.evict(request.at_ms - REQUEST_WINDOW_MS);
  }

  /** Oldest first. Requests added during iteration are included. */
  entries(): Iterable<CachedRequest> {
    return this.byKey.values();
  }

  private evict(beforeMs: number): void {
    for (;;) {
      const oldest = this.queue[this.oldestIndex] as CachedRequest;
      if (this.byKey.size <= this.requestsMax && oldest.at_ms >= beforeMs) break;
      this.byKey.delete(oldest.key);
      this.oldestIndex += 1;
    }
    if (this.oldestIndex > 1024 && this.oldestIndex * 2 > this.queue.length) {
      this.queue = this.queue.slice(this.oldestIndex);
      this.oldestIndex = 0;
    }
  }
}
