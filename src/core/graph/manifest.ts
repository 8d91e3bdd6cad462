import { z } from 'zod';
import { readStrictJson } from '../strict-json.js';
import { pathFault } from './asset-path.js';
import { caseFoldedPath } from './guarded-paths.js';

export const MANIFEST_FILES_MAX = 2000;
export const FILE_BYTES_MAX = 100 * 1024 * 1024;
export const TOTAL_BYTES_MAX = 500 * 1024 * 1024;
/** More than a manifest of so many files with such names can have. */
export const MANIFEST_BYTES_MAX = 4 * 1024 * 1024;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const assetPath = z.string().superRefine((path, ctx) => {
  const message = pathFault(path);
  if (message !== null) ctx.addIssue({ code: 'custom', message });
});

const manifestFile = z.strictObject({
  path: assetPath,
  sha256,
  size_bytes: z.number().int().min(0).max(FILE_BYTES_MAX),
  executable: z.boolean(),
  /** What the file was when the work on it began; null: there was none. */
  base_sha256: sha256.nullable(),
});

/** The result of an edge, as files: what each is to become, by the digest of its bytes. */
export const manifestSchema = z
  .strictObject({
    kind: z.literal('files'),
    files: z.array(manifestFile).min(1).max(MANIFEST_FILES_MAX),
    total_bytes: z.number().int().min(0).max(TOTAL_BYTES_MAX),
  })
  .superRefine(({ files, total_bytes }, ctx) => {
    const message = pathCollision(files.map((file) => file.path));
    if (message !== null) ctx.addIssue({ code: 'custom', path: ['files'], message });
    if (files.reduce((sum, file) => sum + file.size_bytes, 0) !== total_bytes) {
      ctx.addIssue({ code: 'custom', path: ['total_bytes'], message: 'expected the sum of the files' });
    }
  });

export type ManifestFile = Readonly<z.infer<typeof manifestFile>>;
export interface ResultManifest {
  readonly kind: 'files';
  readonly files: readonly ManifestFile[];
  readonly total_bytes: number;
}

/** Two paths that cannot both be there, said in a sentence; null: there are none. */
export function pathCollision(paths: readonly string[]): string | null {
  const pathByFolded = new Map<string, string>();
  for (const path of paths) {
    const other = pathByFolded.get(caseFoldedPath(path));
    if (other !== undefined) return `${other} and ${path} are one file on some disks`;
    pathByFolded.set(caseFoldedPath(path), path);
  }
  for (const path of paths) {
    const folded = caseFoldedPath(path);
    for (let cut = folded.lastIndexOf('/'); cut > 0; cut = folded.lastIndexOf('/', cut - 1)) {
      const other = pathByFolded.get(folded.slice(0, cut));
      if (other !== undefined) return `${other} cannot be a file and the folder of ${path}`;
    }
  }
  return null;
}

/** Whether a result says that it is files; whether it says so rightly is for `readManifest`. */
export const isFilesResult = (data: unknown): boolean =>
  typeof data === 'object' && data !== null && (data as { kind?: unknown }).kind === 'files';

export type ParsedManifest =
  | { readonly ok: true; readonly manifest: ResultManifest }
  | { readonly ok: false; readonly path: string; readonly message: string };

export function parseManifest(data: unknown): ParsedManifest {
  const parsed = manifestSchema.safeParse(data);
  if (parsed.success) return { ok: true, manifest: parsed.data };
  const [issue] = parsed.error.issues;
  return { ok: false, path: issue?.path.join('.') ?? '', message: issue?.message ?? 'not understood' };
}

/** What a blob says that may be a manifest. One reader for all: what is judged is what is promoted. Null: it is none. */
export function parseResultBlob(blob: Uint8Array): unknown {
  if (blob.length > MANIFEST_BYTES_MAX) return null;
  const parsed = readStrictJson(new TextDecoder().decode(blob));
  return 'value' in parsed ? parsed.value : null;
}

/** The digests of the files that a result names; none where it is no manifest. */
export function manifestDigests(data: unknown): readonly string[] {
  const parsed = isFilesResult(data) ? parseManifest(data) : null;
  return parsed?.ok ? [...new Set(parsed.manifest.files.map(({ sha256 }) => sha256))] : [];
}
