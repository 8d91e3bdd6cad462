import { lstatSync, statSync } from 'node:fs';

export type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

export interface ForeignPath {
  readonly path: string;
  /** The user id of the owner. */
  readonly owner: number;
  /** The user id of this process. */
  readonly user: number;
}

/**
 * The first of these paths that another user owns; null if there is none, or if the platform has no owners. Missing paths
 * are ignored. For a link, both the link and its target are checked, because a git repository can contain links.
 */
export function findForeignPath(paths: readonly string[], env: ProcessEnvironment): ForeignPath | null {
  const user = process.getuid?.();
  if (user === undefined) return null;
  const trusted = new Set([user, ...sudoUser(user, env)]);
  for (const path of paths) {
    for (const stat of [lstatSync, statSync]) {
      const owner = stat(path, { throwIfNoEntry: false })?.uid;
      if (owner !== undefined && !trusted.has(owner)) return { path, owner, user };
    }
  }
  return null;
}

/**
 * The user who called sudo. Only a process of root trusts the variable: for any other process, anyone may have set it.
 */
function sudoUser(user: number, { SUDO_UID = '' }: ProcessEnvironment): number[] {
  return user === 0 && /^\d{1,10}$/.test(SUDO_UID) ? [Number(SUDO_UID)] : [];
}

/** The message that refuses a folder. `setting` is the setting that names the folder explicitly. */
export const foreignFolderText = (
  what: string,
  folder: string,
  { path, owner, user }: ForeignPath,
  setting: string,
): string =>
  `${what} was found here, but belongs to another user, and is not used. ${path} is owned by user id ${owner}, but this ` +
  `process runs as user id ${user}. If you trust its content, name it explicitly: ${setting}. Or change its owner: ` +
  `chown -R ${user} ${folder}`;
