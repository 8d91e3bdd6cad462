import type { Genesis } from '../../client/index.js';
import { isProblem } from '../../client/replies.js';
import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { engineError } from '../../engine/engine-error.js';
import type { RunBlobs } from '../../engine/run-blobs.js';

/** The blobs of a run at its coordinator. The store has no buckets, and the key of a blob is its digest. */
export const remoteBlobs = (genesis: Pick<Genesis, 'putBlob' | 'getBlob'>): RunBlobs => ({
  async put(bytes) {
    const sha256 = sha256Hex(bytes);
    const reply = await genesis.putBlob(sha256, bytes);
    if (isProblem(reply)) throw engineError('unavailable', reply.detail);
    return { bucket: '', key: sha256, version: sha256 };
  },
  async get({ key }) {
    const reply = await genesis.getBlob(key);
    if (isProblem(reply)) throw engineError('unavailable', reply.detail);
    if (sha256Hex(reply) !== key) throw engineError('failed', `The blob ${key} is not what was written.`);
    return reply;
  },
});
