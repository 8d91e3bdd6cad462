import type { BlobReference } from '../core/engine/run-data.js';

/** The blobs of a run, by reference. A blob is durable when `put` resolves. */
export interface RunBlobs {
  put(bytes: Uint8Array): Promise<BlobReference>;
  /** Throws an `EngineError` if the blob is missing or its content has changed. */
  get(reference: BlobReference): Promise<Uint8Array>;
}
