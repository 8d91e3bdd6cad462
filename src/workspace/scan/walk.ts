import { constants, type Dirent } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';

export interface WalkBounds {
  readonly files_max: number;
  readonly bytes_max: number;
  readonly file_bytes_max: number;
  readonly depth_max: number;
}

export const WALK_BOUNDS: WalkBounds = {
  files_max: 20_000,
  bytes_max: 256 * 1024 * 1024,
  file_bytes_max: 1024 * 1024,
  depth_max: 24,
};

export interface TextFile {
  /** Relative to the root, separated by `/`. */
  readonly path: string;
  readonly text: string;
}

/** Folders with third-party or generated files. Folders that start with a dot are skipped anyway. */
const SKIPPED_FOLDERS = new Set([
  'node_modules',
  'bower_components',
  'vendor',
  'dist',
  'build',
  'out',
  'target',
  'coverage',
  'venv',
  '__pycache__',
]);

/** Every text file of a project in path order. Follows no link, and stops at the bounds. */
export async function* walkTextFiles(
  root: string,
  onSkipped: (message: string) => void,
  bounds: WalkBounds = WALK_BOUNDS,
): AsyncGenerator<TextFile> {
  let files = 0;
  let bytes = 0;
  for await (const path of paths(root, '', bounds.depth_max, onSkipped)) {
    if (files === bounds.files_max) return onSkipped(`everything from ${path} on: ${files} files were read`);
    const content = await readContent(join(root, path), path, bounds.file_bytes_max, onSkipped);
    if (content === null) continue;
    files += 1;
    bytes += content.byteLength;
    if (bytes > bounds.bytes_max)
      return onSkipped(`everything from ${path} on: ${bounds.bytes_max} bytes were read`);
    if (!isBinary(content)) yield { path, text: content.toString('utf8') };
  }
}

async function* paths(
  root: string,
  folder: string,
  depthLeft: number,
  onSkipped: (message: string) => void,
): AsyncGenerator<string> {
  for (const entry of await entriesOf(join(root, folder))) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isFile()) yield path;
    if (!entry.isDirectory() || entry.name.startsWith('.') || SKIPPED_FOLDERS.has(entry.name)) continue;
    if (depthLeft === 0) onSkipped(`${path}: too deep`);
    else yield* paths(root, path, depthLeft - 1, onSkipped);
  }
}

/** An unreadable folder counts as empty. */
async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Do not follow links, and do not block on a pipe without a writer. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

async function readContent(
  file: string,
  path: string,
  bytesMax: number,
  onSkipped: (message: string) => void,
): Promise<Buffer | null> {
  const opened = await open(file, FLAGS).catch(() => null);
  if (opened === null) return null;
  try {
    return await readWhole(opened, path, bytesMax, onSkipped);
  } finally {
    await opened.close();
  }
}

async function readWhole(
  opened: FileHandle,
  path: string,
  bytesMax: number,
  onSkipped: (message: string) => void,
): Promise<Buffer | null> {
  const stat = await opened.stat();
  if (!stat.isFile()) return null;
  if (stat.size > bytesMax) {
    onSkipped(`${path}: ${stat.size} bytes`);
    return null;
  }
  return opened.readFile();
}

const BINARY_CHECK_BYTES = 8000;

/** Like git: a file with a zero byte near its beginning is binary. */
const isBinary = (content: Buffer): boolean => content.subarray(0, BINARY_CHECK_BYTES).includes(0);
