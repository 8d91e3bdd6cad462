import { type CompletedRequest, REQUEST_WINDOW_MS, REQUESTS_MAX } from './store.js';

/** A request as memory and snapshots keep it. */
export interface CachedRequest extends CompletedRequest {
  readonly at_ms: number;
}

/** The requests a project remembers: each for the window, the oldest going first when there are too many. */
export class RequestCache {
  private readonly byKey = new Map<string, CachedRequest>();
  /** Oldest first, from `oldest` on. A map cannot serve as the queue: its deleted front must be skipped each time. */
  private queue: CachedRequest[] = [];
  private oldestIndex = 0;

  constructor(private readonly requestsMax = REQUESTS_MAX) {}

  get size(): number {
    return this.byKey.size;
  }

  get(key: string): CachedRequest | undefined {
    return this.byKey.get(key);
  }

  /** A key that is known keeps its first meaning. */
  remember(request: CachedRequest): void {
    if (!this.byKey.has(request.key)) this.add(request);
  }

  /** For a key that was just looked for in vain. */
  add(request: CachedRequest): void {
    this.byKey.set(request.key, request);
    this.queue.push(request);
    this.evict(request.at_ms - REQUEST_WINDOW_MS);
  }

  /** Oldest first. Live: requests remembered meanwhile are seen. */
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
