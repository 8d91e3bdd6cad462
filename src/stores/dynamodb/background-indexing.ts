import { completeBucketCount } from './bucket-index.js';
import type { DynamodbEvents } from './events.js';
import type { CachedProject } from './project-cache.js';

/**
 * Indexes the complete buckets of a project while commits continue. The next commit records in the project's row how
 * many are indexed. If indexing fails, readers search the buckets themselves, and a later commit restarts the indexing.
 */
export class BackgroundIndexing {
  /** The number of buckets that are known to be indexed. */
  indexedBuckets = 0;
  private isRunning = false;

  constructor(private readonly events: DynamodbEvents) {}

  start({ position, indexed_buckets }: CachedProject): void {
    this.indexedBuckets = Math.max(this.indexedBuckets, indexed_buckets);
    const count = completeBucketCount(position);
    if (this.isRunning || this.indexedBuckets >= count) return;
    this.isRunning = true;
    this.indexUpTo(count)
      .catch(() => undefined)
      .finally(() => {
        this.isRunning = false;
      });
  }

  private async indexUpTo(count: number): Promise<void> {
    while (this.indexedBuckets < count) {
      if (!(await this.events.indexBucket(this.indexedBuckets))) return;
      this.indexedBuckets += 1;
    }
  }
}
