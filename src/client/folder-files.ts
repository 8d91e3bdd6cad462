import { open, readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';

export const fileNamesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder).catch(() => [] as string[])).sort();

/** Removes the oldest files with this suffix beyond the limit. */
export async function removeOldest(folder: string, suffix: string, filesMax: number): Promise<void> {
  const names = (await fileNamesIn(folder)).filter((name) => name.endsWith(suffix));
  if (names.length <= filesMax) return;
  const filesByAge = await Promise.all(
    names.map(async (name) => ({ name, changedMs: await changedAtMs(join(folder, name)) })),
  );
  filesByAge.sort((a, b) => a.changedMs - b.changedMs);
  for (const { name } of filesByAge.slice(0, -filesMax)) await remove(join(folder, name));
}

export const remove = (path: string): Promise<void> => unlink(path).catch(ignoreMissing);

export function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

export const changedAtMs = async (path: string): Promise<number> =>
  (await stat(path).catch(() => null))?.ctimeMs ?? Number.POSITIVE_INFINITY;

/** Ignores failures: systems that cannot sync a folder persist its names by themselves. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => null);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
