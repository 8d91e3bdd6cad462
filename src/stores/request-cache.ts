import { type CompletedRequest, REQUEST_WINDOW_MS, REQUESTS_MAX } from './store.js';

/** A request as kept in memory and in snapshots. The positions of its events are consecutive. */
export interface CachedRequest extends CompletedRequest {
  readonly at_ms: number;
}

/** Requests as one array per field: an object for each of a million requests would burden the garbage collector. */
class RequestColumns {
  constructor(
    readonly keys: string[] = [],
    readonly timesMs: number[] = [],
    private readonly digests: string[] = [],
    private readonly replies: unknown[] = [],
    private readonly firstPositions: number[] = [],
    private readonly eventCounts: number[] = [],
  ) {}

  get length(): number {
    return this.keys.length;
  }

  push({ key, digest, reply, positions, at_ms }: CachedRequest): void {
    this.keys.push(key);
    this.timesMs.push(at_ms);
    this.digests.push(digest);
    this.replies.push(reply);
    this.firstPositions.push(positions[0] ?? 0);
    this.eventCounts.push(positions.length);
  }

  at(index: number): CachedRequest {
    const first = this.firstPositions[index] as number;
    return {
      key: this.keys[index] as string,
      digest: this.digests[index] as string,
      reply: this.replies[index],
      positions: Array.from({ length: this.eventCounts[index] as number }, (_, offset) => first + offset),
      at_ms: this.timesMs[index] as number,
    };
  }

  /** A copy that begins at this index. */
  from(index: number): RequestColumns {
    return new RequestColumns(
      this.keys.slice(index),
      this.timesMs.slice(index),
      this.digests.slice(index),
      this.replies.slice(index),
      this.firstPositions.slice(index),
      this.eventCounts.slice(index),
    );
  }
}

/** Remembers the requests of a project for a time. If there are too many, the oldest are evicted first. */
export class RequestCache {
  /** The number of each request, counted from the first one ever remembered. */
  private readonly numberByKey = new Map<string, number>();
  /** Oldest first. Those before `oldestIndex` are evicted. */
  private columns = new RequestColumns();
  /** The number of the first request in the columns. */
  private firstNumber = 0;
  private oldestIndex = 0;

  constructor(private readonly requestsMax = REQUESTS_MAX) {}

  get(key: string): CachedRequest | undefined {
    const number = this.numberByKey.get(key);
    return number === undefined ? undefined : this.columns.at(number - this.firstNumber);
  }

  has(key: string): boolean {
    return this.numberByKey.has(key);
  }

  /** The first request with a key wins. */
  remember(request: CachedRequest): void {
    if (!this.numberByKey.has(request.key)) this.add(request);
  }

  /** The caller has just checked that the key is unknown. */
  add(request: CachedRequest): void {
    this.numberByKey.set(request.key, this.firstNumber + this.columns.length);
    this.columns.push(request);
    this.evict(request.at_ms - REQUEST_WINDOW_MS);
  }

  /** Oldest first. Requests added during iteration are included. */
  *entries(): Generator<CachedRequest> {
    for (const number of this.numberByKey.values()) yield this.columns.at(number - this.firstNumber);
  }

  private evict(beforeMs: number): void {
    const { keys, timesMs } = this.columns;
    while (this.numberByKey.size > this.requestsMax || (timesMs[this.oldestIndex] as number) < beforeMs) {
      this.numberByKey.delete(keys[this.oldestIndex] as string);
      this.oldestIndex += 1;
    }
    if (this.oldestIndex > 1024 && this.oldestIndex * 2 > this.columns.length) this.dropEvicted();
  }

  private dropEvicted(): void {
    this.columns = this.columns.from(this.oldestIndex);
    this.firstNumber += this.oldestIndex;
    this.oldestIndex = 0;
  }
}
