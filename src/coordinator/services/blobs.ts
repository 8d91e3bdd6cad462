import type { Blobs } from '../../stores/blobs.js';
import type { Projects } from '../queue/projects.js';
import { sha256Hex } from '../runtime/identity.js';
import { catchStoreErrors, problem } from '../wire/problem.js';
import { tenantProblem } from '../wire/project-key.js';

/** Stores blobs, such as large results and the files of candidates. */
export class BlobService {
  constructor(
    private readonly projects: Projects,
    private readonly blobs: Blobs,
  ) {}

  async putBlob(tenantId: string, sha256: string, bytes: Uint8Array) {
    const idProblem = tenantProblem(tenantId);
    if (idProblem !== null) return idProblem;
    return catchStoreErrors(async () => {
      const { max_result_size_bytes } = (await this.projects.keepTenantLimits(tenantId)).currentLimits();
      if (bytes.byteLength > max_result_size_bytes) {
        return problem(
          'INVALID_REQUEST',
          `The blob exceeds ${max_result_size_bytes} bytes. Make it smaller, or have an admin raise max_result_size_bytes.`,
        );
      }
      if (sha256Hex(bytes) !== sha256) {
        return problem('INVALID_REQUEST', 'The SHA-256 does not match the bytes. Send the blob again.');
      }
      await this.blobs.put(tenantId, sha256, bytes);
      return { sha256, size_bytes: bytes.byteLength };
    });
  }
}
