import { execFile } from 'node:child_process';
import type { Dirent, Stats } from 'node:fs';
import { lstat, readdir, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** The paths of a project that a check sees, relative to its root. */
interface ProjectFiles {
  readonly files: readonly string[];
  /** Folders of installed dependencies, which are not copied. */
  readonly dependencies: readonly string[];
}

/** Folders that are not checked: history, coordination, and the CLI's own state. */
const EXCLUDED_FOLDERS = new Set(['.git', '.ai-workspace', '.genesis']);
/** Folders that package managers install. Folders of build output are not listed, because builds write to them. */
const DEPENDENCY_FOLDERS = new Set([
  ...['node_modules', 'bower_components', '.yarn', '.pnpm-store', '.venv', 'venv', '__pypackages__'],
  ...['vendor', '.bundle', 'Pods', 'deps'],
]);
const DEPENDENCY_DEPTH_MAX = 3;
const FOLDER_DEPTH_MAX = 64;
const LIST_BYTES_MAX = 64 * 1024 * 1024;
const GIT_TIMEOUT_MS = 60_000;
/** The git configuration of the repository must not run a program. */
const SAFE_GIT_OPTIONS = [
  ...['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', '-c', 'core.untrackedCache=false'],
];

/** Lists at most one file more than `filesMax`, so that the caller can tell that there are too many. */
export async function listProjectFiles(root: string, filesMax: number): Promise<ProjectFiles> {
  const unignored = await gitPaths(root, ['-co', '--exclude-standard']);
  if (unignored === null) return walk(root, '', filesMax, { files: [], dependencies: [] });
  const ignored = (await gitPaths(root, ['-oi', '--exclude-standard', '--directory'])) ?? [];
  const listing: Listing = { files: [], dependencies: await dependenciesAmong(root, ignored) };
  for (const path of new Set(unignored)) {
    if (listing.files.length > filesMax) break;
    if (path.split('/').some((part) => EXCLUDED_FOLDERS.has(part))) continue;
    const stats = await lstat(join(root, path)).catch(() => null);
    // A submodule, or a repository inside the project, is one entry of git's list.
    if (stats?.isDirectory()) await walk(root, path.replace(/\/$/, ''), filesMax, listing);
    else if (isCopied(stats)) listing.files.push(path);
  }
  return listing;
}

interface Listing {
  readonly files: string[];
  readonly dependencies: string[];
}

const isCopied = (entry: Stats | Dirent | null): boolean =>
  entry !== null && (entry.isFile() || entry.isSymbolicLink());

async function walk(root: string, folder: string, filesMax: number, listing: Listing): Promise<Listing> {
  if (folder.split('/').length > FOLDER_DEPTH_MAX) return listing;
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((): Dirent[] => []);
  for (const entry of entries) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (EXCLUDED_FOLDERS.has(entry.name)) continue;
    if (listing.files.length > filesMax) break;
    if (isCopied(entry)) listing.files.push(path);
    else if (!entry.isDirectory()) continue;
    else if (!DEPENDENCY_FOLDERS.has(entry.name)) await walk(root, path, filesMax, listing);
    else if (isDependencyFolder(path)) listing.dependencies.push(path);
  }
  return listing;
}

function isDependencyFolder(path: string): boolean {
  const parts = path.split('/');
  return parts.length <= DEPENDENCY_DEPTH_MAX && DEPENDENCY_FOLDERS.has(basename(path));
}

/** Links, and folders below links, are not followed: they may lead to files that the check must not see. */
async function dependenciesAmong(root: string, ignored: readonly string[]): Promise<string[]> {
  const realRoot = await realpath(root);
  const folders = ignored.flatMap((path) => (path.endsWith('/') ? [path.slice(0, -1)] : []));
  const realFolders: string[] = [];
  for (const path of folders.filter(isDependencyFolder)) {
    const realFolder = await realpath(join(root, path)).catch(() => null);
    if (realFolder === join(realRoot, path)) realFolders.push(path);
  }
  return realFolders;
}

/** The paths that `git ls-files` prints; null if the folder is not in a work tree, or git cannot read it. */
function gitPaths(root: string, args: readonly string[]): Promise<string[] | null> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')));
  const options = { cwd: root, env, maxBuffer: LIST_BYTES_MAX, timeout: GIT_TIMEOUT_MS } as const;
  return new Promise((resolve) => {
    execFile('git', [...SAFE_GIT_OPTIONS, 'ls-files', '-z', ...args], options, (error, out) =>
      resolve(error === null ? out.split('\0').filter((path) => path !== '') : null),
    );
  });
}
