import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, open, opendir } from 'node:fs/promises';
import { posix } from 'node:path';
import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { FILE_BYTES_MAX, MANIFEST_FILES_MAX } from '../../core/methodology/definition/manifest.js';
import { isErrorCode } from '../../stores/file/disk.js';
import { isSameFile, OpenFolder } from '../open-folder.js';
import { type DraftRefusal, draftRefusal, isDraftRefusal, nameRefusal } from './refusal.js';

/** Called at each step, so that a test can interfere between steps. */
export type StepHook = (step: string, path: string) => void | Promise<void>;
export const noopStepHook: StepHook = () => {};

export interface FileContent {
  readonly bytes: Buffer;
  readonly executable: boolean;
  readonly mode: number;
}

export interface FoundFile {
  readonly path: string;
  readonly folder: OpenFolder;
  readonly name: string;
}

interface SafeReadOptions {
  /** A draft must have one hard link. A project file may have more. */
  readonly links: 'one' | 'any';
  readonly onStep?: StepHook;
}

/** Reads a regular file once, and verifies that it was the same file throughout. Null if it does not exist. */
export async function readSafely(
  { path, folder, name }: FoundFile,
  { links, onStep = noopStepHook }: SafeReadOptions,
): Promise<FileContent | DraftRefusal | null> {
  const filePath = folder.pathOf(name);
  let file: FileHandle | null = null;
  try {
    const before = await lstat(filePath, { bigint: true });
    const refused = kindRefusal(before, path, links);
    if (refused !== null) return refused;
    await onStep('looked', path);
    file = await open(
      filePath,
      constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
    );
    const opened = await file.stat({ bigint: true });
    if (!isUnchanged(before, opened)) return swappedRefusal(path);
    const bytes = await readExactly(file, Number(opened.size));
    await onStep('read', path);
    const after = await lstat(filePath, { bigint: true });
    const isUnchangedFile = isUnchanged(opened, after) && (await folder.isInPlace());
    if (bytes === null || !isUnchangedFile) return swappedRefusal(path);
    const mode = Number(opened.mode) & 0o777;
    return { bytes, executable: (mode & 0o100) !== 0, mode };
  } catch (error) {
    return refusalOfError(error, path, file !== null);
  } finally {
    await file?.close();
  }
}

function kindRefusal(stats: BigIntStats, path: string, links: 'one' | 'any'): DraftRefusal | null {
  if (stats.isSymbolicLink()) return draftRefusal('SYMLINK', path, `${path} is a symbolic link.`);
  if (stats.isDirectory())
    return draftRefusal('NOT_A_FILE', path, `${path} is a folder, where a file is expected.`);
  if (!stats.isFile()) return draftRefusal('NOT_A_FILE', path, `${path} is neither a file nor a folder.`);
  if (links === 'one' && stats.nlink > 1n) {
    return draftRefusal('HARD_LINK', path, `${path} has more than one hard link.`);
  }
  if (stats.size > BigInt(FILE_BYTES_MAX)) {
    return draftRefusal('TOO_LARGE', path, `${path} has more than ${FILE_BYTES_MAX} bytes.`);
  }
  return null;
}

const isUnchanged = (one: BigIntStats, other: BigIntStats): boolean =>
  isSameFile(one, other) &&
  one.mode === other.mode &&
  one.nlink === other.nlink &&
  one.size === other.size &&
  one.mtimeNs === other.mtimeNs &&
  one.ctimeNs === other.ctimeNs;

/** Null if the file is shorter or longer than its reported size. */
async function readExactly(file: FileHandle, sizeBytes: number): Promise<Buffer | null> {
  const bytes = Buffer.alloc(sizeBytes + 1);
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled === sizeBytes ? bytes.subarray(0, sizeBytes) : null;
}

function refusalOfError(error: unknown, path: string, wasOpened: boolean): DraftRefusal | null {
  const hasCode = (code: string) => isErrorCode(error, code);
  if (hasCode('ENOENT')) return wasOpened ? swappedRefusal(path) : null;
  if (hasCode('ELOOP') || hasCode('ENXIO') || hasCode('ENOTDIR')) return swappedRefusal(path);
  if (hasCode('EACCES') || hasCode('EPERM'))
    return draftRefusal('UNREADABLE', path, `${path} cannot be read.`);
  throw error;
}

const swappedRefusal = (path: string): DraftRefusal =>
  draftRefusal('SWAPPED', path, `${path} was changed or replaced while it was read.`);

/** Visits every file below a folder, in name order. Stops at the first refusal. */
export async function walkFiles(
  top: OpenFolder,
  visit: (file: FoundFile) => Promise<DraftRefusal | null>,
): Promise<DraftRefusal | null> {
  const budget = { namesLeft: ENTRIES_MAX };
  const walkFolder = async (folder: OpenFolder, prefix: string): Promise<DraftRefusal | null> => {
    const names = await namesIn(folder, prefix, budget);
    if (isDraftRefusal(names)) return names;
    for (const name of names) {
      const path = `${prefix}${name.normalize('NFC')}`;
      const badName = nameRefusal(path);
      if (badName !== null) return badName;
      const inner = await folder.enter(name);
      const refused =
        inner instanceof OpenFolder
          ? await walkFolder(inner, `${path}/`).finally(() => inner.close())
          : await visit({ path, folder, name });
      if (refused !== null) return refused;
    }
    return null;
  };
  return walkFolder(top, '');
}

const ENTRIES_MAX = 2 * MANIFEST_FILES_MAX;

async function namesIn(
  folder: OpenFolder,
  prefix: string,
  budget: { namesLeft: number },
): Promise<string[] | DraftRefusal> {
  const names: string[] = [];
  // Read names as bytes: decoding an invalid name could make it equal to another.
  for await (const entry of await opendir(folder.pathOf('.'), { encoding: 'buffer' as BufferEncoding })) {
    const bytes = entry.name as unknown as Buffer;
    budget.namesLeft -= 1;
    if (budget.namesLeft < 0)
      return draftRefusal('TOO_MANY', prefix, `There are more than ${ENTRIES_MAX} entries in the drafts.`);
    const name = bytes.toString('utf8');
    if (!Buffer.from(name).equals(bytes))
      return draftRefusal('BAD_NAME', prefix + name, `A name in ${prefix || 'the drafts'} is not UTF-8.`);
    names.push(name);
  }
  return names.sort();
}

/** Reads a file by its path below a root, without following links. Null if it does not exist. */
export async function readBelow(
  root: string,
  path: string,
  options: SafeReadOptions,
): Promise<FileContent | DraftRefusal | null> {
  const folder = await OpenFolder.openBelow(root, posix.dirname(path));
  if (folder === 'absent') return null;
  if (folder === 'symlink')
    return draftRefusal('SYMLINK', path, `A parent folder of ${path} is a symbolic link.`);
  if (folder === 'not_a_folder')
    return draftRefusal('NOT_A_FILE', path, `A parent of ${path} is a file, not a folder.`);
  try {
    return await readSafely({ path, folder, name: posix.basename(path) }, options);
  } finally {
    await folder.close();
  }
}

export const isFileContent = (content: FileContent | DraftRefusal | null): content is FileContent =>
  content !== null && !isDraftRefusal(content);

/** The digest of a file by its path below a root; null if it cannot be read there. */
export async function digestBelow(root: string, path: string): Promise<string | null> {
  const content = await readBelow(root, path, { links: 'any' });
  return isFileContent(content) ? contentDigest(content) : null;
}

/** SHA-256 of a file; null if there is none. */
export const contentDigest = (file: FileContent | null): string | null =>
  file === null ? null : sha256Hex(file.bytes);
