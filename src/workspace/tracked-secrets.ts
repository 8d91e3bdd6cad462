import { lstat, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PLATFORM_TENANT } from '../core/subject.js';
import { STORE_FILE, TENANTS_FOLDER } from '../stores/file/layout.js';
import { nullSeparated, runGit } from './drafts/git.js';

/** The secret files in a store's folder that git tracks. */
export interface TrackedSecrets {
  /** Relative to the store's folder, as git spells them. Empty if there are none. */
  readonly paths: readonly string[];
  /** Whether git tracks the secret that keys are bound to, or the log of the keys. */
  readonly hasKeys: boolean;
}

const NO_SECRETS: TrackedSecrets = { paths: [], hasKeys: false };
const KEY_FILES: readonly string[] = [STORE_FILE, TENANTS_FOLDER, PLATFORM_TENANT];
const KEY_FOLDERS: readonly string[] = [`${PLATFORM_TENANT}/`, `${TENANTS_FOLDER}/${PLATFORM_TENANT}`];

/** Secret names in the folder of a plain store. */
export const STORE_SECRETS: readonly string[] = [STORE_FILE, PLATFORM_TENANT];
/** Secret names in a workspace's `events` folder. */
export const WORKSPACE_SECRETS: readonly string[] = [STORE_FILE, TENANTS_FOLDER, 'server.json'];

/** Asks git which of these names it tracks, ignoring case. Empty without a repository, or if git fails. */
export async function trackedSecrets(folder: string, names: readonly string[]): Promise<TrackedSecrets> {
  const real = await realpath(folder).catch(() => null);
  const top = real === null ? null : await repositoryOf(real);
  if (real === null || top === null) return NO_SECRETS;
  // Name the repository explicitly: a checked-out folder could be made to look like one.
  const repository = ['--git-dir', join(top, '.git'), '--work-tree', top];
  const pathspecs = names.map((name) => `:(icase)${name}`);
  const listed = await runGit(real, [...OFFLINE, ...repository, 'ls-files', '-z', '--', ...pathspecs]);
  const paths = listed.ok ? nullSeparated(listed.out) : [];
  return { paths, hasKeys: paths.some(isKeyFile) };
}

/** Never fetch anything while reading the index. */
const OFFLINE = ['-c', 'protocol.allow=never'];

function isKeyFile(path: string): boolean {
  const name = path.toLowerCase();
  return KEY_FILES.includes(name) || KEY_FOLDERS.some((folder) => name.startsWith(folder));
}

/** The nearest folder upward that is the top of a clone, a worktree or a submodule. */
export async function repositoryOf(folder: string): Promise<string | null> {
  for (let top = folder; ; top = dirname(top)) {
    if ((await lstat(join(top, '.git')).catch(() => null)) !== null) return top;
    if (top === dirname(top)) return null;
  }
}
