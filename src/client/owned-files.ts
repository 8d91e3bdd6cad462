import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';

/** A file owned by a process for longer than this without a change counts as abandoned, even if that process seems alive. */
const OWNED_MS_MAX = 10 * 60 * 1000;
const TEMP_SUFFIX = '.tmp';
const HOST = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
/** Identifies this process, and not an earlier one with the same pid. */
const OWNER = `${HOST}-${process.pid}-${randomUUID().slice(0, 8)}`;

/**
 * Files of one kind in a folder that processes share: `ID` and a suffix while it has no owner, `ID~OWNER` and a suffix
 * while a process does. A process owns a file by renaming it, which succeeds for one of several.
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
    const names = await namesIn(this.folder);
    return names.filter((name) => isOwnedName(name, this.ownedSuffix) || this.isFree(name));
  }

  /** Whether no process owns the file of this name. */
  isFree = (name: string): boolean => name.endsWith(this.freeSuffix) && !name.includes('~');

  idOf(name: string): string {
    const file = basename(name);
    return this.isFree(file) ? file.slice(0, -this.freeSuffix.length) : file.slice(0, file.lastIndexOf('~'));
  }

  /** The path of the file, now owned by this process; null if another owns or has removed it. */
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

  /** Shows that the owner lives. False if another process has taken the file over. */
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

export const namesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder).catch(() => [] as string[])).sort();

/** Removes temporary files of processes that have ended. */
export async function removeAbandonedTemps(folder: string): Promise<void> {
  for (const name of await namesIn(folder))
    if (name.endsWith(TEMP_SUFFIX) && (await isAbandoned(folder, name))) await remove(join(folder, name));
}

/** Removes the oldest files with this suffix beyond the limit. */
export async function removeOldest(folder: string, suffix: string, max: number): Promise<void> {
  const names = (await namesIn(folder)).filter((name) => name.endsWith(suffix));
  if (names.length <= max) return;
  const aged = await Promise.all(
    names.map(async (name) => ({ name, at_ms: await changedAtMs(join(folder, name)) })),
  );
  aged.sort((a, b) => a.at_ms - b.at_ms);
  for (const { name } of aged.slice(0, -max)) await remove(join(folder, name));
}

export const remove = (path: string): Promise<void> => unlink(path).catch(ignoreMissing);

export function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

const isOwnedName = (name: string, suffix: string): boolean => name.includes('~') && name.endsWith(suffix);

async function isAbandoned(folder: string, name: string): Promise<boolean> {
  const [owner = ''] = name.slice(name.lastIndexOf('~') + 1).split('.');
  if (owner === OWNER) return false;
  const [host, pid] = owner.split('-');
  if (host === HOST && (Number(pid) === process.pid || !isAlive(Number(pid)))) return true;
  return Date.now() - (await changedAtMs(join(folder, name))) > OWNED_MS_MAX;
}

const changedAtMs = async (path: string): Promise<number> =>
  (await stat(path).catch(() => null))?.ctimeMs ?? Number.POSITIVE_INFINITY;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Ignores failures: systems that cannot sync a folder persist its names by themselves. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => null);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
