import { lstat, realpath } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { caseFoldedPath } from '../core/methodology/definition/guarded-paths.js';
import { PLATFORM_TENANT } from '../core/subject.js';
import { STORE_FILE, TENANTS_FOLDER } from '../stores/file/layout.js';
import { nullSeparated, runGit } from './git.js';

// These include folders, because git lists a link or a submodule in place of a folder under the name of the folder.
const KEY_PATHS: readonly string[] = [STORE_FILE, TENANTS_FOLDER, PLATFORM_TENANT];
const KEY_PATH_PREFIXES: readonly string[] = [`${PLATFORM_TENANT}/`, `${TENANTS_FOLDER}/${PLATFORM_TENANT}`];

/** Secret names in the folder of a plain store. */
export const STORE_SECRETS: readonly string[] = [STORE_FILE, PLATFORM_TENANT];
/** Secret names in a workspace's `events` folder. */
export const WORKSPACE_SECRETS: readonly string[] = [STORE_FILE, TENANTS_FOLDER, 'server.json'];

/**
 * The secret files in a store's folder that git tracks, as git spells them. `hasKeys` is whether they include the log of
 * the API keys or the secret that the keys are bound to. If git fails, `hasKeys` is true, because others may have written
 * the keys.
 */
export async function findTrackedSecrets(
  folder: string,
  names: readonly string[],
): Promise<{ readonly paths: readonly string[]; readonly hasKeys: boolean }> {
  const paths = await findTrackedPaths(folder, names);
  return paths === null ? { paths: [], hasKeys: true } : { paths, hasKeys: paths.some(isKeyFile) };
}

/** The paths in the folder that git tracks under one of these names, in upper or lower case; null if git fails. */
export async function findTrackedPaths(folder: string, names: readonly string[]): Promise<string[] | null> {
  const realFolder = await realpath(folder).catch(() => null);
  const repositoryRoot = realFolder === null ? null : await repositoryOf(realFolder);
  if (realFolder === null || repositoryRoot === null) return [];
  // Name the repository explicitly: a checked-out folder could be made to look like one.
  const repository = ['--git-dir', join(repositoryRoot, '.git'), '--work-tree', repositoryRoot];
  const relativeFolder = relative(repositoryRoot, realFolder).split(sep).join('/');
  const prefix = relativeFolder === '' ? '' : `${relativeFolder}/`;
  // The pattern starts at the top folder, because git compares the current folder with regard to case.
  const pathspec = `:(top,icase)${prefix}`;
  // Never fetch anything while reading the index.
  const offline = ['-c', 'protocol.allow=never'];
  const listed = await runGit(repositoryRoot, [...offline, ...repository, 'ls-files', '-z', '--', pathspec]);
  if (!listed.ok) return null;
  return nullSeparated(listed.out)
    .map((path) => path.slice(prefix.length))
    .filter((path) => names.some((name) => matchesName(path, name)));
}

/** Whether a case-insensitive file system may treat the path as this name, or as a file below a folder of this name. */
function matchesName(path: string, name: string): boolean {
  const folded = caseFoldedPath(path);
  const foldedName = caseFoldedPath(name);
  return folded === foldedName || folded.startsWith(`${foldedName}/`);
}

function isKeyFile(path: string): boolean {
  const name = caseFoldedPath(path);
  return KEY_PATHS.includes(name) || KEY_PATH_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/** The nearest folder upward that is the top of a clone, a worktree or a submodule. */
export async function repositoryOf(folder: string): Promise<string | null> {
  for (let repositoryRoot = folder; ; repositoryRoot = dirname(repositoryRoot)) {
    if ((await lstat(join(repositoryRoot, '.git')).catch(() => null)) !== null) return repositoryRoot;
    if (repositoryRoot === dirname(repositoryRoot)) return null;
  }
}
