import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';

export const WALK_BOUNDS = {
  files_max: 20_000,
  bytes_max: 256 * 1024 * 1024,
  file_bytes_max: 1024 * 1024,
  depth_max: 24,
};
export type WalkBounds = Readonly<typeof WALK_BOUNDS>;

const BINARY_CHECK_BYTES = 8000;

export interface TextFile {
  /** Relative to the root, separated by `/`. */
  readonly path: string;
  readonly text: string;
}

/** Folders with third-party or generated files. Folders that start with a dot are skipped anyway. */
export const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(
  'node_modules bower_components vendor dist build out target coverage venv __pycache__'.split(' '),
);

/** The text files of a project, entry by entry in name order. Skips some folders, follows no link, stops at the bounds. */
export async function* walkTextFiles(
  root: string,
  onSkipped: (message: string) => void,
  bounds: WalkBounds = WALK_BOUNDS,
): AsyncGenerator<TextFile> {
  let fileCount = 0;
  let byteCount = 0;
  for await (const path of walkPaths(root, '', bounds.depth_max, onSkipped)) {
    if (fileCount === bounds.files_max)
      return onSkipped(`everything from ${path} on: the limit of ${fileCount} files is reached`);
    const content = await readContent(root, path, bounds.file_bytes_max, onSkipped);
    if (content === null) continue;
    fileCount += 1;
    byteCount += content.byteLength;
    if (byteCount > bounds.bytes_max)
      return onSkipped(`everything from ${path} on: the limit of ${bounds.bytes_max} bytes is reached`);
    // Like git: a file with a zero byte near its beginning is binary.
    const isBinary = content.subarray(0, BINARY_CHECK_BYTES).includes(0);
    if (!isBinary) yield { path, text: content.toString('utf8') };
  }
}

async function* walkPaths(
  root: string,
  folder: string,
  depthLeft: number,
  onSkipped: (message: string) => void,
): AsyncGenerator<string> {
  // An unreadable folder counts as empty.
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => []);
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isFile()) yield path;
    if (!entry.isDirectory() || entry.name.startsWith('.') || SKIPPED_FOLDERS.has(entry.name)) continue;
    if (depthLeft === 0) onSkipped(`${path}: nested too deeply`);
    else yield* walkPaths(root, path, depthLeft - 1, onSkipped);
  }
}

/** Do not follow links, and do not block on a pipe without a writer. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

async function readContent(
  root: string,
  path: string,
  bytesMax: number,
  onSkipped: (message: string) => void,
): Promise<Buffer | null> {
  const file = await open(join(root, path), OPEN_FLAGS).catch(() => null);
  if (file === null) return null;
  try {
    const stat = await file.stat();
    if (!stat.isFile()) return null;
    if (stat.size <= bytesMax) return await file.readFile();
    onSkipped(`${path}: ${stat.size} bytes, more than ${bytesMax}`);
    return null;
  } finally {
    await file.close();
  }
}
