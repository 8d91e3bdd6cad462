import { existsSync } from 'node:fs';
import { readdir, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LOCK_FILE, STORE_FILE } from '../stores/file/layout.js';

/** The files that a file store creates when it is opened, before anything is written to it. */
const FILES_OF_AN_EMPTY_STORE = new Set<string>([LOCK_FILE, STORE_FILE, '.gitignore']);

/**
 * Call this before a store is opened: the returned function then removes the folders that the opening has created. Folders
 * that existed before stay, and so does a store that contains anything.
 */
export function unusedStoreRemover(folder: string | null): () => Promise<void> {
  if (folder === null || existsSync(folder)) return async () => {};
  const created = missingFolders(folder);
  return async () => {
    const names = await readdir(folder).catch(() => null);
    if (names === null || !names.every((name) => FILES_OF_AN_EMPTY_STORE.has(name))) return;
    for (const name of names) await rm(join(folder, name));
    // Stop at a folder that has other content.
    for (const each of created) if ((await rmdir(each).catch((error: Error) => error)) !== undefined) return;
  };
}

/** The folder and those above it that do not exist, innermost first. */
function missingFolders(folder: string): string[] {
  const missing: string[] = [];
  for (let each = folder; !existsSync(each); each = dirname(each)) missing.push(each);
  return missing;
}
