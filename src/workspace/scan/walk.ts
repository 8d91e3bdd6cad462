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
  /** From the root, with `/` between its parts. */
  readonly path: string;
  readonly text: string;
}

/** Folders that hold what others wrote, or what was made from what is here. Those with a dot before are out anyway. */
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

/** Every text file of a project, in the order of their paths. Follows no link, and ends where a bound is reached. */
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

/** A folder that cannot be read is as good as empty: it is no part of what we may see. */
async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Opened without following a link, and without waiting for one who writes into a pipe. */
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

/** As git tells it: a text has no zero byte in its beginning. */
const isBinary = (content: Buffer): boolean => content.subarray(0, BINARY_CHECK_BYTES).includes(0);
