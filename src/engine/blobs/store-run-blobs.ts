import { sha256Hex } from '../../coordinator/runtime/identity.js';
import type { BlobReference } from '../../core/engine/run-data.js';
import type { Blobs } from '../../stores/blobs.js';
import { StoreUnavailable } from '../../stores/store.js';
import { engineError } from '../engine-error.js';
import type { RunBlobs } from '../run-blobs.js';

/** Every key ends with the digest, wherever the blob was stored when the reference was made. */
const DIGEST_AT_END = /(?:^|\/)([0-9a-f]{64})$/;

/**
 * The blobs of a run, by reference. A blob is read by its digest and for this tenant only: the bucket and the path in the
 * reference are ignored. So a reference remains valid after its blob has moved, and none leads to another tenant's blob.
 */
export const runBlobsOf = (blobs: Blobs, tenantId: string): RunBlobs => ({
  async put(bytes) {
    const sha256 = sha256Hex(bytes);
    return translatingStoreErrors(async () => {
      await blobs.put(tenantId, sha256, bytes);
      const reference = await blobs.referenceOf?.(tenantId, sha256);
      return reference ?? { bucket: '', key: sha256, version: sha256 };
    });
  },

  async get(reference) {
    const sha256 = digestOf(reference);
    const bytes = await translatingStoreErrors(() => blobs.get(tenantId, sha256));
    if (bytes === null)
      throw engineError(
        'failed',
        `There is no blob ${sha256}. Check GENESIS_BLOBS, or restore the blob from a backup.`,
      );
    if (sha256Hex(bytes) !== sha256)
      throw engineError('failed', `The blob ${sha256} is not what was written. Restore it from a backup.`);
    return bytes;
  },
});

function digestOf({ key }: BlobReference): string {
  const sha256 = DIGEST_AT_END.exec(key)?.[1];
  if (sha256 !== undefined) return sha256;
  throw engineError(
    'failed',
    `${JSON.stringify(key)} is not the key of a blob: it does not end with a SHA-256.`,
  );
}

async function translatingStoreErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreUnavailable) throw engineError('unavailable', error.message);
    throw error;
  }
}
