import type { SubmitBody } from '../../core/contract/claims.js';
import {
  isFilesResult,
  MANIFEST_BYTES_MAX,
  manifestDigests,
  parseManifest,
  parseResultBlob,
} from '../../core/methodology/definition/manifest.js';
import type { Blobs } from '../../stores/blobs.js';
import { fieldProblem, problem } from '../wire/problem.js';

interface TenantBlobs {
  readonly tenant_id: string;
  readonly blobs: Blobs;
}

/** Maximum number of concurrent blob lookups, which matters for a remote store. */
const PARALLEL_LOOKUPS_MAX = 50;

/**
 * The files that a result changes. A manifest comes in the body or, if long, as a blob. A manifest that could not be
 * promoted is refused here, because a converged edge must have its files.
 */
export async function changedFilesOf(body: SubmitBody, tenantBlobs: TenantBlobs) {
  const data = await resultDataOf(body, tenantBlobs);
  if (!isFilesResult(data)) return pathsIn(data);
  const read = parseManifest(data);
  if (!read.ok) return fieldProblem(`result_data.${read.path}`, read.message);
  const missing = await firstMissingBlob(manifestDigests(data), tenantBlobs);
  if (missing === null) return pathsIn(data);
  return problem(
    'BLOB_MISSING',
    `The blob ${missing}, which files names, is not stored. Upload it, then submit again.`,
  );
}

async function resultDataOf(body: SubmitBody, { tenant_id, blobs }: TenantBlobs): Promise<unknown> {
  if (body.blob_sha256 === undefined) return body.result_data;
  const sizeBytes = await blobs.size(tenant_id, body.blob_sha256);
  if (sizeBytes === null || sizeBytes > MANIFEST_BYTES_MAX) return null;
  const bytes = await blobs.get(tenant_id, body.blob_sha256);
  return bytes === null ? null : parseResultBlob(bytes);
}

async function firstMissingBlob(digests: readonly string[], { tenant_id, blobs }: TenantBlobs) {
  for (let at = 0; at < digests.length; at += PARALLEL_LOOKUPS_MAX) {
    const chunk = digests.slice(at, at + PARALLEL_LOOKUPS_MAX);
    const sizes = await Promise.all(chunk.map((sha256) => blobs.size(tenant_id, sha256)));
    const missing = sizes.indexOf(null);
    if (missing !== -1) return chunk[missing] as string;
  }
  return null;
}

/** Also for results that are no manifest but have `files` like one: they may change paths that need a human. */
function pathsIn(result: unknown): readonly string[] {
  const files = (result as { files?: unknown } | null)?.files;
  if (!Array.isArray(files)) return [];
  return files
    .map((file) => (file as { path?: unknown } | null)?.path)
    .filter((path) => typeof path === 'string');
}
