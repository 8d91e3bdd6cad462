import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { lstat, mkdir, open, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isErrorCode } from '../../stores/file/disk.js';
import type { ConstructedFile } from './candidate-answer.js';

/**
 * Writes files below a folder, following no link. The paths must be valid. If something is in the way of a file, returns
 * what it is, and writes nothing. Returns null if all files were written.
 */
export async function writeFiles(folder: string, files: readonly ConstructedFile[]): Promise<string | null> {
  const root = await realpath(folder);
  for (const { path } of files) {
    const obstacle = await obstacleOf(root, path);
    if (obstacle !== null) return obstacle;
  }
  for (const { path, content } of files) await replaceFile(join(root, path), content);
  return null;
}

async function obstacleOf(root: string, path: string): Promise<string | null> {
  const names = path.split('/');
  for (let depth = 1; depth <= names.length; depth += 1) {
    const part = names.slice(0, depth).join('/');
    const stats = await statOf(join(root, part));
    if (stats === null) return null;
    if (stats.isSymbolicLink()) return `${part} is a link`;
    if (depth < names.length && !stats.isDirectory()) return `${part} is not a folder`;
    if (depth === names.length && !stats.isFile()) return `${part} is not a file`;
  }
  return null;
}

/**
 * Replaces a file by a rename, so that no reader sees half a file, and a hard link to the old file keeps its content.
 */
async function replaceFile(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const mode = (await statOf(path))?.mode ?? null;
  const temporaryFile = join(dirname(path), `.gen-${randomUUID()}.part`);
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
  try {
    const file = await open(temporaryFile, flags, 0o666);
    try {
      if (mode !== null) await file.chmod(mode & 0o777);
      await file.writeFile(content);
    } finally {
      await file.close();
    }
    await rename(temporaryFile, path);
  } finally {
    await rm(temporaryFile, { force: true });
  }
}

async function statOf(path: string): Promise<Stats | null> {
  try {
    return await lstat(path);
  } catch (error) {
    if (isErrorCode(error, 'ENOENT') || isErrorCode(error, 'ENOTDIR')) return null;
    throw error;
  }
}
