import { REQUEST_WINDOW_MS, REQUESTS_MAX, type RememberedRequest } from './store.js';

/** A request as memory and snapshots keep it. */
export interface KeptRequest extends RememberedRequest {
  readonly at_ms: number;
}

/** The requests a project remembers: each for the window, the oldest going first when there are too many. */
export class RequestMemory {
  private readonly by_key = new Map<string, KeptRequest>();
  /** Oldest first, from `oldest` on. A map cannot serve as the queue: its deleted front must be skipped each time. */
  private queue: KeptRequest[] = [];
  private oldest = 0;

  constructor(private readonly requests_max = REQUESTS_MAX) {}

  get size(): number {
    return this.by_key.size;
  }

  get(key: string): KeptRequest | undefined {
    return this.by_key.get(key);
  }

  /** A key that is known keeps its first meaning. */
  remember(request: KeptRequest): void {
    if (!this.by_key.has(request.key)) this.add(request);
  }

  /** For a key that was just looked for in vain. */
  add(request: KeptRequest): void {
    this.by_key.set(request.key, request);
    this.queue.push(request);
    this.forget(request.at_ms - REQUEST_WINDOW_MS);
  }

  /** Oldest first. Live: requests remembered meanwhile are seen. */
  entries(): Iterable<KeptRequest> {
    return this.by_key.values();
  }

  private forget(before_ms: number): void {
    for (;;) {
      const oldest = this.queue[this.oldest] as KeptRequest;
      if (this.by_key.size <= this.requests_max && oldest.at_ms >= before_ms) break;
      this.by_key.delete(oldest.key);
      this.oldest += 1;
    }
    if (this.oldest > 1024 && this.oldest * 2 > this.queue.length) {
      this.queue = this.queue.slice(this.oldest);
      this.oldest = 0;
    }
  }
}
