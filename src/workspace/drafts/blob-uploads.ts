import type { BlobTarget } from './draft-paths.js';

const UPLOADS_MAX = 16;
const UPLOAD_BYTES_MAX = 32 * 1024 * 1024;

/** Stores blobs concurrently: a disk syncs many files in little more time than one. */
export class BlobUploads {
  private readonly running = new Set<Promise<void>>();
  private runningBytes = 0;
  private failure: { readonly error: unknown } | null = null;

  constructor(private readonly target: BlobTarget) {}

  /** Resolves when the upload has begun, before the blob is durable. */
  async put(sha256: string, bytes: Uint8Array): Promise<void> {
    const hasCapacity = () =>
      this.running.size < UPLOADS_MAX && this.runningBytes + bytes.length <= UPLOAD_BYTES_MAX;
    while (this.running.size > 0 && !hasCapacity()) await Promise.race(this.running);
    this.runningBytes += bytes.length;
    const upload = this.target.blobs
      .put(this.target.key.tenant_id, sha256, bytes)
      .catch((error: unknown) => {
        this.failure ??= { error };
      })
      .finally(() => {
        this.runningBytes -= bytes.length;
        this.running.delete(upload);
      });
    this.running.add(upload);
  }

  async allSettled(): Promise<void> {
    await Promise.all(this.running);
  }

  /** Resolves when every blob is durable; throws the first failure. */
  async allDurable(): Promise<void> {
    await this.allSettled();
    if (this.failure !== null) throw this.failure.error;
  }
}
