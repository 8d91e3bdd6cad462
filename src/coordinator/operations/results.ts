import { canonicalJson } from '../../core/canonical-json.js';
import type { SubmittedResult } from '../../core/claims/head.js';
import type { SubmitBody } from '../../core/contract/claim-bodies.js';
import type { ChangedFile } from '../../core/engine/guarded-check-files.js';
import {
  isFilesResult,
  MANIFEST_BYTES_MAX,
  manifestDigests,
  parseManifest,
  parseResultBlob,
  type ResultManifest,
} from '../../core/methodology/definition/manifest.js';
import { workProductRef } from '../../core/plan/index.js';
import type { Blobs } from '../../stores/blobs.js';
import { sha256Hex } from '../runtime/identity.js';
import { fieldProblem, isProblem, type Problem, problem } from '../wire/problem.js';

interface TenantBlobs {
  readonly tenant_id: string;
  readonly blobs: Blobs;
}

/** Results up to this size are stored in the event, larger ones as a blob. */
const INLINE_BYTES_MAX = 64 * 1024;

/**
 * Builds a result from a submission: its digest, its reference and, if large, its blob, which is durable before any
 * event names it. Most results are small, and need no promise.
 */
export function buildResult(
  body: SubmitBody,
  subject: string,
  target: TenantBlobs & { size_bytes_max: number },
): SubmittedResult | Promise<SubmittedResult | Problem> {
  const { tenant_id, blobs, size_bytes_max } = target;
  if (body.blob_sha256 !== undefined) return buildBlobResult(body, body.blob_sha256, subject, target);
  const text = canonicalJson(body.result_data);
  const sizeBytes = Buffer.byteLength(text);
  const sha256 = sha256Hex(text);
  const identified = identifyResult(body, subject, sha256, sizeBytes);
  if (sizeBytes <= INLINE_BYTES_MAX) return { data: body.result_data, ...identified };
  // The rules refuse a result that is too large, so its blob must not be written.
  if (sizeBytes > size_bytes_max) return identified;
  const stored = blobs.put(tenant_id, sha256, Buffer.from(text));
  return stored.then(() => ({ blob_sha256: sha256, ...identified }));
}

/** The result with its digest and its reference, for an event. The caller bounds its size. */
export function buildInlineResult(body: ResultOrigin & Pick<SubmitBody, 'result_data'>, subject: string) {
  const text = canonicalJson(body.result_data);
  return {
    data: body.result_data,
    ...identifyResult(body, subject, sha256Hex(text), Buffer.byteLength(text)),
  };
}

async function buildBlobResult(
  body: SubmitBody,
  sha256: string,
  subject: string,
  { tenant_id, blobs }: TenantBlobs,
): Promise<SubmittedResult | Problem> {
  const sizeBytes = await blobs.size(tenant_id, sha256);
  if (sizeBytes === null) {
    return problem('BLOB_MISSING', 'There is no blob with that hash. Upload it, then submit again.', [
      { path: 'blob_sha256', message: 'expected the SHA-256 of an uploaded blob' },
    ]);
  }
  return { blob_sha256: sha256, ...identifyResult(body, subject, sha256, sizeBytes) };
}

/** What the id and the reference of a result are made from, besides its content. */
type ResultOrigin = Pick<SubmitBody, 'generation' | 'session_id' | 'metadata'>;

function identifyResult(body: ResultOrigin, subject: string, sha256: string, size_bytes: number) {
  const origin = sha256Hex(JSON.stringify([subject, body.generation, body.session_id, sha256]));
  return {
    result_id: `res_${origin.slice(0, 24)}`,
    sha256,
    size_bytes,
    work_product_ref: workProductRef(subject, body.generation, sha256),
    ...(body.metadata === undefined ? {} : { metadata: body.metadata }),
  };
}

/** Maximum number of concurrent blob lookups, which matters for a remote store. */
const PARALLEL_LOOKUPS_MAX = 50;

/**
 * The files that a result changes. A manifest comes in the body or, if long, as a blob. It is refused if it is not valid,
 * or if the blob of a file is not stored: the files of a converged edge must be available.
 */
export async function changedFilesOf(
  body: Pick<SubmitBody, 'blob_sha256' | 'result_data'>,
  tenantBlobs: TenantBlobs,
): Promise<readonly ChangedFile[] | Problem> {
  const data = await resultDataOf(body, tenantBlobs);
  if (!isFilesResult(data)) return filesIn(data);
  const parsed = parseManifest(data);
  if (!parsed.ok) return fieldProblem(`result_data.${parsed.path}`, parsed.message);
  const sizes = await blobSizes(manifestDigests(data), tenantBlobs);
  return blobProblem(parsed.manifest, sizes) ?? filesIn(data);
}

/** Why the files of a manifest are refused; null if they are not. Limits count declared sizes, so these must be true. */
function blobProblem({ files }: ResultManifest, sizes: BlobSizes): Problem | null {
  for (const [at, { sha256, size_bytes }] of files.entries()) {
    const stored = sizes.get(sha256) ?? null;
    if (stored === null)
      return problem(
        'BLOB_MISSING',
        `The blob ${sha256}, listed in the files of the manifest, is not stored. Upload it, then submit again.`,
      );
    if (stored !== size_bytes)
      return fieldProblem(`result_data.files.${at}.size_bytes`, `expected ${stored}, the size of its blob`);
  }
  return null;
}

async function resultDataOf(
  body: Pick<SubmitBody, 'blob_sha256' | 'result_data'>,
  { tenant_id, blobs }: TenantBlobs,
): Promise<unknown> {
  if (body.blob_sha256 === undefined) return body.result_data;
  const sizeBytes = await blobs.size(tenant_id, body.blob_sha256);
  if (sizeBytes === null || sizeBytes > MANIFEST_BYTES_MAX) return null;
  const bytes = await blobs.get(tenant_id, body.blob_sha256);
  return bytes === null ? null : parseResultBlob(bytes);
}

type BlobSizes = ReadonlyMap<string, number | null>;

async function blobSizes(digests: readonly string[], { tenant_id, blobs }: TenantBlobs): Promise<BlobSizes> {
  const sizes = new Map<string, number | null>();
  for (let at = 0; at < digests.length; at += PARALLEL_LOOKUPS_MAX) {
    const chunk = digests.slice(at, at + PARALLEL_LOOKUPS_MAX);
    const chunkSizes = await Promise.all(chunk.map((sha256) => blobs.size(tenant_id, sha256)));
    for (const [index, sha256] of chunk.entries()) sizes.set(sha256, chunkSizes[index] ?? null);
  }
  return sizes;
}

/**
 * The files that a result lists. A result that is not a manifest may list `files` too, so that the rules about paths apply
 * to it.
 */
function filesIn(result: unknown): readonly ChangedFile[] {
  const files = (result as { files?: unknown } | null)?.files;
  if (!Array.isArray(files)) return [];
  return files.flatMap((file) => {
    const { path, base_sha256 } = (file ?? {}) as { path?: unknown; base_sha256?: unknown };
    return typeof path === 'string' ? [{ path, is_new: base_sha256 === null }] : [];
  });
}

/** Why a candidate is refused; null if it is an uploaded manifest whose files are uploaded too. */
export async function candidateProblem(blobSha256: string, target: TenantBlobs): Promise<Problem | null> {
  const body = { blob_sha256: blobSha256, result_data: undefined };
  if (!isFilesResult(await resultDataOf(body, target))) {
    const detail =
      'There is no manifest with that hash. Upload it and its files as blobs, then propose it again.';
    return problem('BLOB_MISSING', detail, [
      { path: 'candidate_sha256', message: 'expected the SHA-256 of an uploaded manifest of files' },
    ]);
  }
  const files = await changedFilesOf(body, target);
  return isProblem(files) ? files : null;
}
