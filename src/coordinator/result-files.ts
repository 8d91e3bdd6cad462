import { claimsFiles, dataIn, digestsIn, MANIFEST_BYTES_MAX, readManifest } from '../core/graph/manifest.js';
import type { Blobs } from '../stores/blobs.js';
import { type Problem, problem } from './problem.js';
import type { SubmitBody } from './wire.js';

interface Shelf {
  readonly tenant_id: string;
  readonly blobs: Blobs;
}

/** A store far away is asked so many questions at once. */
const ASKED_AT_ONCE = 50;

/**
 * Which files a result changes: a manifest may come in the body or, where it is long, as a blob. One that could not be
 * promoted is refused here: an edge that has converged has its files.
 */
export async function filesOf(body: SubmitBody, shelf: Shelf): Promise<readonly string[] | Problem> {
  const data = await dataOf(body, shelf);
  if (!claimsFiles(data)) return pathsIn(data);
  const read = readManifest(data);
  if (!read.ok) return invalid(`result_data.${read.path}`, read.message);
  const missing = await missingOf(digestsIn(data), shelf);
  if (missing === null) return pathsIn(data);
  return problem(
    'BLOB_MISSING',
    `There is no blob ${missing}, which the files name. Put it first, then submit.`,
  );
}

async function dataOf(body: SubmitBody, { tenant_id, blobs }: Shelf): Promise<unknown> {
  if (body.blob_sha256 === undefined) return body.result_data;
  const size_bytes = await blobs.size(tenant_id, body.blob_sha256);
  if (size_bytes === null || size_bytes > MANIFEST_BYTES_MAX) return null;
  const bytes = await blobs.get(tenant_id, body.blob_sha256);
  return bytes === null ? null : dataIn(bytes);
}

async function missingOf(digests: readonly string[], { tenant_id, blobs }: Shelf): Promise<string | null> {
  for (let at = 0; at < digests.length; at += ASKED_AT_ONCE) {
    const some = digests.slice(at, at + ASKED_AT_ONCE);
    const sizes = await Promise.all(some.map((sha256) => blobs.size(tenant_id, sha256)));
    const missing = sizes.indexOf(null);
    if (missing !== -1) return some[missing] as string;
  }
  return null;
}

/** Also of a result that is no manifest, but tells of files as one does: it may change what needs a human. */
function pathsIn(result: unknown): readonly string[] {
  const files = (result as { files?: unknown } | null)?.files;
  if (!Array.isArray(files)) return [];
  return files
    .map((file) => (file as { path?: unknown } | null)?.path)
    .filter((path) => typeof path === 'string');
}

const invalid = (path: string, message: string): Problem =>
  problem('INVALID_REQUEST', `${path}: ${message}`, [{ path, message }]);
