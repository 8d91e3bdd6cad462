import { mkdir, rename, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isAbandoned, OWNER } from './file-owner.js';
import { fileNamesIn, ignoreMissing, remove, syncFolder } from './folder-files.js';

const TEMP_SUFFIX = '.tmp';

/**
 * Files of one kind in a folder that processes share. The name of a file is its id and a suffix while it has no owner,
 * `ID~OWNER` and a suffix while a process owns it. A process takes a file by renaming it, which only one process can do.
 */
export class OwnedFiles {
  constructor(
    readonly folder: string,
    private readonly freeSuffix: string,
    private readonly ownedSuffix: string,
  ) {}

  /** Writes the file durably. */
  async write(id: string, text: string, isOwned: boolean): Promise<string> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const temp = `${this.ownedPath(id)}${TEMP_SUFFIX}`;
    const path = isOwned ? this.ownedPath(id) : this.freePath(id);
    await writeFile(temp, text, { mode: 0o600, flush: true });
    await rename(temp, path);
    await syncFolder(this.folder);
    return path;
  }

  /** The names of all files, owned or not. */
  async names(): Promise<string[]> {
    const names = await fileNamesIn(this.folder);
    return names.filter((name) => isOwnedName(name, this.ownedSuffix) || this.isFree(name));
  }

  /** Whether no process owns the file of this name. */
  isFree = (name: string): boolean => name.endsWith(this.freeSuffix) && !name.includes('~');

  idOf(name: string): string {
    const file = basename(name);
    return this.isFree(file) ? file.slice(0, -this.freeSuffix.length) : file.slice(0, file.lastIndexOf('~'));
  }

  /** Takes a file for this process. Returns its new path; null if another process owns the file or has removed it. */
  async takeOwnership(name: string): Promise<string | null> {
    if (!(await this.isAvailable(name))) return null;
    const path = this.ownedPath(this.idOf(name));
    return rename(join(this.folder, name), path).then(
      () => path,
      () => null,
    );
  }

  /** Whether no living process owns the file. */
  async isAvailable(name: string): Promise<boolean> {
    return this.isFree(name) || (await isAbandoned(this.folder, name));
  }

  async giveBack(path: string): Promise<void> {
    await rename(path, this.freePath(this.idOf(path))).catch(ignoreMissing);
  }

  /** Updates the time of the file, so that it does not count as abandoned. False if another process has taken it over. */
  async keepOwnership(path: string): Promise<boolean> {
    const now = new Date();
    return utimes(path, now, now).then(
      () => true,
      () => false,
    );
  }

  freePath = (id: string): string => join(this.folder, `${id}${this.freeSuffix}`);
  private ownedPath = (id: string): string => join(this.folder, `${id}~${OWNER}${this.ownedSuffix}`);
}

/** Removes temporary files of processes that have ended. */
export async function removeAbandonedTemps(folder: string): Promise<void> {
  for (const name of await fileNamesIn(folder))
    if (name.endsWith(TEMP_SUFFIX) && (await isAbandoned(folder, name))) await remove(join(folder, name));
}

const isOwnedName = (name: string, suffix: string): boolean => name.includes('~') && name.endsWith(suffix);
