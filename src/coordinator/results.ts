import { canonicalJson } from '../core/canonical-json.js';
import type { SubmittedResult } from '../core/claims/head.js';
import { workProductRef } from '../core/plan/index.js';
import type { Blobs } from '../stores/blobs.js';
import { sha256Hex } from './identity.js';
import { type Problem, problem } from './problem.js';
import type { SubmitBody } from './wire.js';

/** Results up to this size travel inside the event; larger ones go by blob. */
export const INLINE_BYTES_MAX = 64 * 1024;

/**
 * Makes a result out of a submission: its digest, its reference, and, when it is large, its blob, which is
 * durable before anything names it.
 */
export async function resultFrom(
  body: SubmitBody,
  subject: string,
  where: { tenant_id: string; blobs: Blobs; size_bytes_max: number },
): Promise<SubmittedResult | Problem> {
  if (body.blob_sha256 !== undefined) return blobResult(body, body.blob_sha256, subject, where);
  const text = canonicalJson(body.result_data);
  const size_bytes = Buffer.byteLength(text);
  const sha256 = sha256Hex(text);
  const named = nameResult(body, subject, sha256, size_bytes);
  if (size_bytes <= INLINE_BYTES_MAX) return { data: body.result_data, ...named };
  // Too large is for the rules to refuse; it must not reach the disk before they do.
  if (size_bytes > where.size_bytes_max) return named;
  await where.blobs.put(where.tenant_id, sha256, Buffer.from(text));
  return { blob_sha256: sha256, ...named };
}

async function blobResult(
  body: SubmitBody,
  sha256: string,
  subject: string,
  where: { tenant_id: string; blobs: Blobs },
): Promise<SubmittedResult | Problem> {
  const size_bytes = await where.blobs.size(where.tenant_id, sha256);
  if (size_bytes === null) {
    return problem('BLOB_MISSING', 'There is no blob by that hash. Put it first, then submit.', [
      { path: 'blob_sha256', message: 'expected the hash of a blob that was put before' },
    ]);
  }
  return { blob_sha256: sha256, ...nameResult(body, subject, sha256, size_bytes) };
}

function nameResult(body: SubmitBody, subject: string, sha256: string, size_bytes: number): SubmittedResult {
  const origin = sha256Hex(JSON.stringify([subject, body.generation, body.session_id, sha256]));
  return {
    result_id: `res_${origin.slice(0, 24)}`,
    sha256,
    size_bytes,
    work_product_ref: workProductRef(subject, body.generation, sha256),
  };
}
