import { lstat, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PLATFORM_TENANT } from '../core/subject.js';
import { STORE_FILE, TENANTS_FOLDER } from '../stores/file/layout.js';
import { nullSeparated, runGit } from './drafts/git.js';

/** What git tracks in the folder of a store although it is secret. */
export interface TrackedSecrets {
  /** From the folder of the store, as git names them. Empty: nothing. */
  readonly paths: readonly string[];
  /** Git tracks the secret that keys are bound to, or the log of the keys. */
  readonly hasKeys: boolean;
}

const NO_SECRETS: TrackedSecrets = { paths: [], hasKeys: false };
const KEY_FILES: readonly string[] = [STORE_FILE, TENANTS_FOLDER, PLATFORM_TENANT];
const KEY_FOLDERS: readonly string[] = [`${PLATFORM_TENANT}/`, `${TENANTS_FOLDER}/${PLATFORM_TENANT}`];

/** Secret names in the folder of a plain store. */
export const STORE_SECRETS: readonly string[] = [STORE_FILE, PLATFORM_TENANT];
/** Secret names in the folder `events` of a workspace. */
export const WORKSPACE_SECRETS: readonly string[] = [STORE_FILE, TENANTS_FOLDER, 'server.json'];

/** Asks git which of these names it tracks, in any case. Nothing, where there is no repository or git cannot be asked. */
export async function trackedSecrets(folder: string, names: readonly string[]): Promise<TrackedSecrets> {
  const real = await realpath(folder).catch(() => null);
  const top = real === null ? null : await repositoryOf(real);
  if (real === null || top === null) return NO_SECRETS;
  // The repository is named, not searched for: a folder that git carries could be made to look like one.
  const repository = ['--git-dir', join(top, '.git'), '--work-tree', top];
  const pathspecs = names.map((name) => `:(icase)${name}`);
  const listed = await runGit(real, [...OFFLINE, ...repository, 'ls-files', '-z', '--', ...pathspecs]);
  const paths = listed.ok ? nullSeparated(listed.out) : [];
  return { paths, hasKeys: paths.some(isKeyFile) };
}

/** Looking at the index never fetches anything. */
const OFFLINE = ['-c', 'protocol.allow=never'];

function isKeyFile(path: string): boolean {
  const name = path.toLowerCase();
  return KEY_FILES.includes(name) || KEY_FOLDERS.some((folder) => name.startsWith(folder));
}

/** The nearest folder, from this one upward, that is the top of a clone, a worktree or a submodule. */
export async function repositoryOf(folder: string): Promise<string | null> {
  for (let top = folder; ; top = dirname(top)) {
    if ((await lstat(join(top, '.git')).catch(() => null)) !== null) return top;
    if (top === dirname(top)) return null;
  }
}
