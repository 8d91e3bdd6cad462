import { constants } from 'node:fs';
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readlink,
  realpath,
  rm,
  symlink,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, normalize, relative, sep } from 'node:path';
import { pathFault } from '../../core/methodology/definition/asset-path.js';
import type { WorkCopy } from './check-execution.js';
import { listProjectFiles } from './project-files.js';

/** A file of the candidate, under its path in the project. */
export interface CandidateFile {
  readonly path: string;
  readonly bytes: Uint8Array;
  /** Absent: the file keeps its mode in the project; a new file is not executable. */
  readonly executable?: boolean;
}

interface CopyLimits {
  readonly files: number;
  readonly bytes: number;
}
export const COPY_LIMITS: CopyLimits = { files: 50_000, bytes: 1024 ** 3 };

export interface CopyRefusal {
  readonly refused: 'PROJECT_TOO_LARGE' | 'BAD_PATH';
  readonly says: string;
  readonly next: string;
}

/** Readable for any user: as root, a check runs as a separate user. The folder around the copy is private. */
const FOLDER_MODE = 0o755;
const FILE_MODE = 0o644;
const PROGRAM_MODE = 0o755;

/** Copies the files of a project that git does not ignore, and writes the candidate's files over them. */
export async function createWorkCopy(
  root: string,
  overlay: readonly CandidateFile[],
  limits: CopyLimits = COPY_LIMITS,
): Promise<WorkCopy | CopyRefusal> {
  const privateFolder = await mkdtemp(join(tmpdir(), 'genesis-check-'));
  const folder = join(await realpath(privateFolder), 'project');
  const remove = () => rm(privateFolder, { recursive: true, force: true });
  try {
    await mkdir(folder, { mode: FOLDER_MODE });
    await chmod(folder, FOLDER_MODE);
    const { files, dependencies } = await listProjectFiles(root, limits.files);
    const refusal =
      (await copyFiles(await realpath(root), files, folder, limits)) ??
      (await layOver(folder, overlay, dependencies));
    if (refusal !== null) {
      await remove();
      return refusal;
    }
    const read_only_mounts = dependencies.map((target) => ({ source: join(root, target), target }));
    return { folder, read_only_mounts, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

export const isCopyRefusal = (value: WorkCopy | CopyRefusal): value is CopyRefusal => 'refused' in value;

async function copyFiles(
  root: string,
  files: readonly string[],
  folder: string,
  limits: CopyLimits,
): Promise<CopyRefusal | null> {
  if (files.length > limits.files) return tooLarge(`more than ${limits.files} files`);
  let bytes = 0;
  for (const path of files) {
    const source = join(root, path);
    const stats = await lstat(source).catch(() => null);
    // A file below a linked folder is not in the project, even if git lists it.
    if (stats === null || (await realpath(dirname(source))) !== dirname(source)) continue;
    const target = join(folder, path);
    await makeFolder(dirname(target));
    if (stats.isSymbolicLink()) await copyLink(source, target, path);
    if (!stats.isFile()) continue;
    bytes += stats.size;
    if (bytes > limits.bytes) return tooLarge(`more than ${limits.bytes} bytes`);
    await copyFile(source, target, constants.COPYFILE_FICLONE);
    await chmod(target, stats.mode & 0o100 ? PROGRAM_MODE : FILE_MODE);
  }
  return null;
}

const tooLarge = (size: string): CopyRefusal => ({
  refused: 'PROJECT_TOO_LARGE',
  says: `The project has ${size} that git does not ignore, too many to copy for a check.`,
  next: 'List generated and large files in .gitignore.',
});

/** Copies a symbolic link, unless it leads out of the project. */
async function copyLink(source: string, target: string, path: string): Promise<void> {
  const text = await readlink(source);
  const destination = normalize(join(dirname(path), text));
  if (text.startsWith('/') || destination === '..' || destination.startsWith(`..${sep}`)) return;
  await symlink(text, target);
}

async function layOver(
  folder: string,
  overlay: readonly CandidateFile[],
  dependencies: readonly string[],
): Promise<CopyRefusal | null> {
  for (const { path, bytes, executable } of overlay) {
    const dependencyFolder = dependencies.find((dependency) => `${path}/`.startsWith(`${dependency}/`));
    const fault =
      pathFault(path) ??
      (dependencyFolder === undefined ? null : `${dependencyFolder} has installed dependencies`);
    if (fault !== null) return badPath(path, fault);
    const target = join(folder, path);
    if (!(await isBelow(folder, dirname(target)))) return badPath(path, 'it is below a link');
    await makeFolder(dirname(target));
    const existing = await lstat(target).catch(() => null);
    if (existing?.isDirectory()) return badPath(path, 'it is a folder');
    if (existing?.isSymbolicLink()) await rm(target);
    const file = await open(target, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC, FILE_MODE);
    await file.writeFile(bytes).finally(() => file.close());
    if (executable !== undefined) await chmod(target, executable ? PROGRAM_MODE : FILE_MODE);
  }
  return null;
}

const badPath = (path: string, fault: string): CopyRefusal => ({
  refused: 'BAD_PATH',
  says: `The candidate's file ${JSON.stringify(path)} cannot be written: ${fault}.`,
  next: 'Give the file another path.',
});

/** Whether all parts of the path between the two folders are folders, not links or files, as far as they exist. */
async function isBelow(folder: string, path: string): Promise<boolean> {
  let current = folder;
  for (const part of relative(folder, path).split(sep)) {
    current = join(current, part);
    const stats = await lstat(current).catch(() => null);
    if (stats === null) return true;
    if (!stats.isDirectory()) return false;
  }
  return true;
}

/** Makes a folder and its parents. Sets their modes, because the umask could hide them from the check's user. */
async function makeFolder(path: string): Promise<void> {
  const firstMade = await mkdir(path, { recursive: true, mode: FOLDER_MODE });
  if (firstMade === undefined) return;
  for (let folder = path; ; folder = dirname(folder)) {
    await chmod(folder, FOLDER_MODE);
    if (folder === firstMade) return;
  }
}
