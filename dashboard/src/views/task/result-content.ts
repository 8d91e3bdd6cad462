/** A file of a result: its path and the digest of its content. */
export interface ResultFile {
  readonly path: string;
  readonly sha256: string;
  readonly size_bytes: number;
}
/** How the data of a result is shown. */
export type ResultContent =
  | { readonly kind: 'text' | 'json' | 'diff'; readonly text: string }
  | { readonly kind: 'files'; readonly files: readonly ResultFile[] }
  | { readonly kind: 'blob'; readonly sha256: string }
  | { readonly kind: 'none' };

interface ResultData {
  readonly result_data: unknown;
  readonly blob_sha256: string | null;
}

const DIFF_PATTERN = /^(diff --git |Index: |--- .*\n\+\+\+ |@@ -\d+)/m;

export function contentOf({ result_data: data, blob_sha256 }: ResultData): ResultContent {
  if (data === null || data === undefined)
    return blob_sha256 === null ? { kind: 'none' } : { kind: 'blob', sha256: blob_sha256 };
  const files = filesOf(data);
  if (files !== null) return { kind: 'files', files };
  if (typeof data === 'string') return { kind: DIFF_PATTERN.test(data) ? 'diff' : 'text', text: data };
  return { kind: 'json', text: JSON.stringify(data, null, 2) };
}

/** The files of a manifest; null if the data is something else. */
export function filesOf(data: unknown): readonly ResultFile[] | null {
  if (typeof data !== 'object' || data === null) return null;
  const { kind, files } = data as { kind?: unknown; files?: unknown };
  if (kind !== 'files' || !Array.isArray(files)) return null;
  return files.filter(isFile).map(({ path, sha256, size_bytes }) => ({ path, sha256, size_bytes }));
}

const isFile = (file: unknown): file is ResultFile =>
  typeof file === 'object' &&
  file !== null &&
  typeof (file as ResultFile).path === 'string' &&
  typeof (file as ResultFile).sha256 === 'string';

export interface FileChange {
  readonly path: string;
  readonly change: 'added' | 'changed' | 'removed' | 'same';
  readonly before: ResultFile | null;
  readonly after: ResultFile | null;
}

/** What differs between two sets of files, by path. */
export function compareFiles(before: readonly ResultFile[], after: readonly ResultFile[]): FileChange[] {
  const filesBefore = new Map(before.map((file) => [file.path, file]));
  const pathsAfter = new Set(after.map(({ path }) => path));
  const changes = after.map((file): FileChange => {
    const earlier = filesBefore.get(file.path) ?? null;
    const change = earlier === null ? 'added' : earlier.sha256 === file.sha256 ? 'same' : 'changed';
    return { path: file.path, change, before: earlier, after: file };
  });
  const removed = before
    .filter(({ path }) => !pathsAfter.has(path))
    .map((file): FileChange => ({ path: file.path, change: 'removed', before: file, after: null }));
  return [...changes, ...removed].sort((a, b) => (a.path < b.path ? -1 : 1));
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB'] as const;

export function sizeText(bytes: number): string {
  let [size, unit] = [bytes, 0];
  while (size >= 1024 && unit < UNITS.length - 1) [size, unit] = [size / 1024, unit + 1];
  return `${unit === 0 ? size : size.toFixed(1)} ${UNITS[unit]}`;
}
