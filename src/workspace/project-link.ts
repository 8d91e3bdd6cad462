import { realpathSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { Workspace } from './workspace.js';

/** The path after every link on it is followed, or why it is not followed. */
export type FollowedPath =
  | { readonly path: string }
  | { readonly fault: 'missing' | 'outside' | 'own_store' | 'loop' };

/**
 * Follows the links on a path of a project's configuration. Links within the project are allowed. A link that leaves the
 * project could expose any file of this user, and a link into the log's folder could expose the log's secret.
 */
export function followInProject(workspace: Workspace, ...parts: readonly string[]): FollowedPath {
  try {
    const root = realpathSync(workspace.root);
    const path = realpathSync(join(workspace.root, ...parts));
    if (!isWithin(path, root)) return { fault: 'outside' };
    return isWithin(path, join(root, '.ai-workspace', 'events')) ? { fault: 'own_store' } : { path };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { fault: 'missing' };
    if (code === 'ELOOP') return { fault: 'loop' };
    throw error;
  }
}

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(folder + sep);
