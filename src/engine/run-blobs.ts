import type { BlobReference } from '../core/engine/run-data.js';

/** Content of a run by reference. Durable when `put` resolves; content is addressed by its digest. */
export interface RunBlobs {
  put(bytes: Uint8Array): Promise<BlobReference>;
  /** Throws an `EngineError` if it is missing or is not what was written. */
  get(reference: BlobReference): Promise<Uint8Array>;
}
