import type { BlobTarget } from './draft-folders.js';

const UPLOADS_MAX = 16;
const UPLOAD_BYTES_MAX = 32 * 1024 * 1024;

/** Stores blobs concurrently: a disk syncs many files in little more time than one. */
export class BlobUploads {
  private readonly running = new Set<Promise<void>>();
  private runningBytes = 0;
  private failure: { readonly error: unknown } | null = null;

  constructor(private readonly target: BlobTarget) {}

  /** Resolves when there is capacity for it, which is before it is durable. */
  async put(sha256: string, bytes: Uint8Array): Promise<void> {
    while (this.running.size > 0 && !this.hasCapacity(bytes.length)) await Promise.race(this.running);
    this.runningBytes += bytes.length;
    const one = this.target.blobs
      .put(this.target.key.tenant_id, sha256, bytes)
      .catch((error: unknown) => {
        this.failure ??= { error };
      })
      .finally(() => {
        this.runningBytes -= bytes.length;
        this.running.delete(one);
      });
    this.running.add(one);
  }

  /** Resolves when no upload is running. */
  async allSettled(): Promise<void> {
    await Promise.all(this.running);
  }

  /** Resolves when every blob is durable; throws the first failure. */
  async allDurable(): Promise<void> {
    await this.allSettled();
    if (this.failure !== null) throw this.failure.error;
  }

  private hasCapacity(bytes: number): boolean {
    return this.running.size < UPLOADS_MAX && this.runningBytes + bytes <= UPLOAD_BYTES_MAX;
  }
}
