import { z } from 'zod';
import type { ReplyOf } from '../../contract/schema.js';
import { readStrictJson } from '../../strict-json.js';
import { pathFault } from './asset-path.js';
import { caseFoldedPath } from './guarded-paths.js';

export const MANIFEST_FILES_MAX = 2000;
export const FILE_BYTES_MAX = 100 * 1024 * 1024;
export const TOTAL_BYTES_MAX = 500 * 1024 * 1024;
/** Upper bound for a manifest with the maximum number of files and the longest paths. */
export const MANIFEST_BYTES_MAX = 4 * 1024 * 1024;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const assetPath = z.string().superRefine((path, context) => {
  const message = pathFault(path);
  if (message !== null) context.addIssue({ code: 'custom', message });
});

const manifestFile = z.strictObject({
  path: assetPath,
  sha256,
  size_bytes: z.number().int().min(0).max(FILE_BYTES_MAX),
  executable: z.boolean(),
  /** Digest of the file when the work began; null if it did not exist. */
  base_sha256: sha256.nullable(),
});

/** Manifest of an edge's result: the new content of each file, by digest. */
const manifestSchema = z
  .strictObject({
    kind: z.literal('files'),
    files: z.array(manifestFile).min(1).max(MANIFEST_FILES_MAX),
    total_bytes: z.number().int().min(0).max(TOTAL_BYTES_MAX),
  })
  .superRefine(({ files, total_bytes }, context) => {
    const message = pathCollision(files.map((file) => file.path));
    if (message !== null) context.addIssue({ code: 'custom', path: ['files'], message });
    if (files.reduce((sum, file) => sum + file.size_bytes, 0) !== total_bytes) {
      context.addIssue({
        code: 'custom',
        path: ['total_bytes'],
        message: 'expected the sum of the file sizes',
      });
    }
  });

export type ResultManifest = ReplyOf<typeof manifestSchema>;
export type ManifestFile = ResultManifest['files'][number];

/** Two paths that cannot both exist, as a sentence; null if there are none. */
export function pathCollision(paths: readonly string[]): string | null {
  const pathByFolded = new Map<string, string>();
  for (const path of paths) {
    const otherPath = pathByFolded.get(caseFoldedPath(path));
    if (otherPath !== undefined) return `${otherPath} and ${path} are the same file on some file systems`;
    pathByFolded.set(caseFoldedPath(path), path);
  }
  for (const path of paths) {
    const folded = caseFoldedPath(path);
    for (
      let slashIndex = folded.lastIndexOf('/');
      slashIndex > 0;
      slashIndex = folded.lastIndexOf('/', slashIndex - 1)
    ) {
      const otherPath = pathByFolded.get(folded.slice(0, slashIndex));
      if (otherPath !== undefined) return `${otherPath} cannot be both a file and the folder of ${path}`;
    }
  }
  return null;
}

/** Whether a result claims to be a manifest; `parseManifest` decides whether it is valid. */
export const isFilesResult = (data: unknown): boolean =>
  typeof data === 'object' && data !== null && (data as { kind?: unknown }).kind === 'files';

export function parseManifest(
  data: unknown,
): { ok: true; manifest: ResultManifest } | { ok: false; path: string; message: string } {
  const parsed = manifestSchema.safeParse(data);
  if (parsed.success) return { ok: true, manifest: parsed.data };
  const [issue] = parsed.error.issues;
  return { ok: false, path: issue?.path.join('.') ?? '', message: issue?.message ?? 'not a valid manifest' };
}

/**
 * Parses a blob that may be a manifest; null if it is not strict JSON, or larger than a manifest can be. All code uses this
 * parser, so that what is checked is what is promoted.
 */
export function parseResultBlob(blob: Uint8Array): unknown {
  if (blob.length > MANIFEST_BYTES_MAX) return null;
  const parsed = readStrictJson(new TextDecoder().decode(blob));
  return 'value' in parsed ? parsed.value : null;
}

/** Digests of the files in a manifest; empty if the result is not a valid manifest. */
export function manifestDigests(data: unknown): readonly string[] {
  const parsed = isFilesResult(data) ? parseManifest(data) : null;
  return parsed?.ok ? [...new Set(parsed.manifest.files.map(({ sha256 }) => sha256))] : [];
}
