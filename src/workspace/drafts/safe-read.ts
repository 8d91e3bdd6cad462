import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, open, opendir } from 'node:fs/promises';
import { pathFault } from '../../core/graph/asset-path.js';
import { FILE_BYTES_MAX, MANIFEST_FILES_MAX } from '../../core/graph/manifest.js';
import { isErrorCode } from '../../stores/file/disk.js';
import { HeldFolder, isSame } from '../held-folder.js';
import { type DraftRefusal, isRefusal, refusal } from './refusal.js';

/** Told at each step, so that a test can put something in between. */
export type Steps = (step: string, path: string) => void | Promise<void>;
export const NO_STEPS: Steps = () => {};

export interface ReadFile {
  readonly bytes: Buffer;
  readonly executable: boolean;
  readonly mode: number;
}

export interface FoundFile {
  readonly path: string;
  readonly folder: HeldFolder;
  readonly name: string;
}

interface ReadOptions {
  /** A draft has one name. A file of the project may have more. */
  readonly links: 'one' | 'any';
  readonly steps?: Steps;
}

/** Reads a regular file once, and is sure that it was one and the same file all the while. Null: there is none. */
export async function readSafely(
  { path, folder, name }: FoundFile,
  { links, steps = NO_STEPS }: ReadOptions,
): Promise<ReadFile | DraftRefusal | null> {
  const at = folder.nameOf(name);
  let file: FileHandle | null = null;
  try {
    const looked = await lstat(at, { bigint: true });
    const fault = kindFault(looked, path, links);
    if (fault !== null) return fault;
    await steps('looked', path);
    file = await open(at, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    const opened = await file.stat({ bigint: true });
    if (!isUntouched(looked, opened)) return swapped(path);
    const bytes = await readExactly(file, Number(opened.size));
    await steps('read', path);
    const there = await lstat(at, { bigint: true });
    const steady = isUntouched(opened, there) && (await folder.isThere());
    if (bytes === null || !steady) return swapped(path);
    const mode = Number(opened.mode) & 0o777;
    return { bytes, executable: (mode & 0o100) !== 0, mode };
  } catch (error) {
    return fromError(error, path, file !== null);
  } finally {
    await file?.close();
  }
}

function kindFault(stats: BigIntStats, path: string, links: 'one' | 'any'): DraftRefusal | null {
  if (stats.isSymbolicLink()) return refusal('SYMLINK', path, `${path} is a symbolic link.`);
  if (!stats.isFile()) return refusal('NOT_A_FILE', path, `${path} is neither a file nor a folder.`);
  if (links === 'one' && stats.nlink > 1n) {
    return refusal('HARD_LINK', path, `${path} is also a file somewhere else, by a hard link.`);
  }
  if (stats.size > BigInt(FILE_BYTES_MAX)) {
    return refusal('TOO_LARGE', path, `${path} has more than ${FILE_BYTES_MAX} bytes.`);
  }
  return null;
}

const isUntouched = (one: BigIntStats, other: BigIntStats): boolean =>
  isSame(one, other) &&
  one.mode === other.mode &&
  one.nlink === other.nlink &&
  one.size === other.size &&
  one.mtimeNs === other.mtimeNs &&
  one.ctimeNs === other.ctimeNs;

/** Null: the file ends sooner or later than it said. */
async function readExactly(file: FileHandle, size_bytes: number): Promise<Buffer | null> {
  const bytes = Buffer.alloc(size_bytes + 1);
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled === size_bytes ? bytes.subarray(0, size_bytes) : null;
}

function fromError(error: unknown, path: string, opened: boolean): DraftRefusal | null {
  const is = (code: string) => isErrorCode(error, code);
  if (is('ENOENT')) return opened ? swapped(path) : null;
  if (is('ELOOP') || is('ENXIO') || is('ENOTDIR')) return swapped(path);
  if (is('EACCES') || is('EPERM')) return refusal('UNREADABLE', path, `${path} cannot be read.`);
  throw error;
}

const swapped = (path: string): DraftRefusal =>
  refusal('SWAPPED', path, `${path} was changed or replaced while it was read.`);

type Visit = (file: FoundFile) => Promise<DraftRefusal | null>;

/** Visits every file below a folder, folder by folder, by name. The first refusal ends it. */
export async function walk(folder: HeldFolder, visit: Visit, prefix = ''): Promise<DraftRefusal | null> {
  const budget = { names_left: 2 * MANIFEST_FILES_MAX };
  return walkIn({ folder, prefix, visit, budget });
}

interface Walk {
  readonly folder: HeldFolder;
  readonly prefix: string;
  readonly visit: Visit;
  readonly budget: { names_left: number };
}

async function walkIn(at: Walk): Promise<DraftRefusal | null> {
  const names = await namesIn(at);
  if (!Array.isArray(names)) return names;
  for (const name of names) {
    const path = `${at.prefix}${name.normalize('NFC')}`;
    const fault = pathFault(path);
    if (fault !== null) return refusal('BAD_NAME', path, `${JSON.stringify(path)}: ${fault}.`);
    const inner = await at.folder.enter(name);
    const refused =
      inner instanceof HeldFolder
        ? await walkIn({ ...at, folder: inner, prefix: `${path}/` }).finally(() => inner.close())
        : await at.visit({ path, folder: at.folder, name });
    if (refused !== null) return refused;
  }
  return null;
}

async function namesIn({ folder, prefix, budget }: Walk): Promise<string[] | DraftRefusal> {
  const names: string[] = [];
  // The names are read as bytes: one that is no text must not be taken for another.
  const folderBytes = await opendir(folder.nameOf('.'), { encoding: 'buffer' as BufferEncoding });
  for await (const entry of folderBytes) {
    budget.names_left -= 1;
    const bytes = entry.name as unknown as Buffer;
    if (budget.names_left < 0) {
      return refusal(
        'TOO_MANY',
        prefix,
        `There are more than ${2 * MANIFEST_FILES_MAX} names in the drafts.`,
      );
    }
    const name = bytes.toString('utf8');
    if (!Buffer.from(name).equals(bytes)) {
      return refusal('BAD_NAME', prefix + name, `A name in ${prefix || 'the drafts'} is no UTF-8.`);
    }
    names.push(name);
  }
  return names.sort();
}

/** A file by its path below a held folder; the folders on the way are closed again. Null: there is none. */
export async function readBelow(
  root: string,
  path: string,
  options: ReadOptions,
): Promise<ReadFile | DraftRefusal | null> {
  const names = path.split('/');
  const name = names.pop() as string;
  const folder = await HeldFolder.reach(root, names);
  if (folder === 'absent') return null;
  if (folder === 'symlink')
    return refusal('SYMLINK', path, `A folder on the way to ${path} is a symbolic link.`);
  if (folder === 'not_a_folder')
    return refusal('NOT_A_FILE', path, `The way to ${path} leads through a file.`);
  try {
    return await readSafely({ path, folder, name }, options);
  } finally {
    await folder.close();
  }
}

export const isRead = (read: ReadFile | DraftRefusal | null): read is ReadFile =>
  read !== null && !isRefusal(read);
