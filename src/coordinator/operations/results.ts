import { canonicalJson } from '../../core/canonical-json.js';
import type { SubmittedResult } from '../../core/claims/head.js';
import type { SubmitBody } from '../../core/contract/claims.js';
import { workProductRef } from '../../core/plan/index.js';
import type { Blobs } from '../../stores/blobs.js';
import { sha256Hex } from '../runtime/identity.js';
import { type Problem, problem } from '../wire/problem.js';

/** Results up to this size are stored in the event, larger ones as a blob. */
export const INLINE_BYTES_MAX = 64 * 1024;

/**
 * Builds a result from a submission: its digest, its reference and, if
 * large, its blob, which is durable before any event names it.
 */
export async function buildResult(
  body: SubmitBody,
  subject: string,
  target: { tenant_id: string; blobs: Blobs; size_bytes_max: number },
): Promise<SubmittedResult | Problem> {
  if (body.blob_sha256 !== undefined) return buildBlobResult(body, body.blob_sha256, subject, target);
  const text = canonicalJson(body.result_data);
  const sizeBytes = Buffer.byteLength(text);
  const sha256 = sha256Hex(text);
  const identified = identifyResult(body, subject, sha256, sizeBytes);
  if (sizeBytes <= INLINE_BYTES_MAX) return { data: body.result_data, ...identified };
  // The rules refuse a result that is too large; it must not be written before they do.
  if (sizeBytes > target.size_bytes_max) return identified;
  await target.blobs.put(target.tenant_id, sha256, Buffer.from(text));
  return { blob_sha256: sha256, ...identified };
}

async function buildBlobResult(
  body: SubmitBody,
  sha256: string,
  subject: string,
  target: { tenant_id: string; blobs: Blobs },
): Promise<SubmittedResult | Problem> {
  const sizeBytes = await target.blobs.size(target.tenant_id, sha256);
  if (sizeBytes === null) {
    return problem('BLOB_MISSING', 'There is no blob with that hash. Upload it, then submit again.', [
      { path: 'blob_sha256', message: 'expected the SHA-256 of an uploaded blob' },
    ]);
  }
  return { blob_sha256: sha256, ...identifyResult(body, subject, sha256, sizeBytes) };
}

function identifyResult(body: SubmitBody, subject: string, sha256: string, size_bytes: number) {
  const origin = sha256Hex(JSON.stringify([subject, body.generation, body.session_id, sha256]));
  return {
    result_id: `res_${origin.slice(0, 24)}`,
    sha256,
    size_bytes,
    work_product_ref: workProductRef(subject, body.generation, sha256),
  };
}
