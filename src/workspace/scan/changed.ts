import { lstatSync, readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  DEPTH_MAX,
  hasConfigurationName,
  isSkippedPath,
  leadsToAncestor,
  pathInFolder,
} from '../configuration-path.js';
import { followInProject } from '../project-link.js';
import { INTENT_FILE, WORKSPACE_FOLDER, type Workspace } from '../workspace.js';

/**
 * Whether a configuration file may have changed since a time, by the times of the files. May be true without a change.
 * Misses a change if someone sets a time back. Synchronous: asynchronous calls for some hundred files take ten times as
 * long.
 */
export function mayHaveChanged(workspace: Workspace, sinceMs: number): boolean {
  if (isNewer(statOf(join(workspace.root, INTENT_FILE)), sinceMs)) return true;
  return new ChangeSearch(workspace, sinceMs).hasFolderChanged('', 1);
}

/** Visits the same entries as `readWorkspaceFiles`: links within the project are followed. */
class ChangeSearch {
  /** The targets of the links that were followed. Each is visited once, however many links lead to it. */
  private readonly linkedFolders = new Set<string>();

  constructor(
    private readonly workspace: Workspace,
    private readonly sinceMs: number,
  ) {}

  /** `folder` is relative to `.ai-workspace/`. */
  hasFolderChanged(folder: string, depth: number): boolean {
    if (depth > DEPTH_MAX) return true;
    const path = this.workspace.path(folder);
    // Skip the workspace folder's own time: it changes mostly with folders of work products.
    if (folder !== '' && isNewer(statOf(path), this.sinceMs)) return true;
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const name = pathInFolder(folder, entry.name);
      if (isSkippedPath(name)) continue;
      if (entry.isSymbolicLink() && this.hasLinkChanged(name, depth)) return true;
      if (entry.isDirectory() && this.hasFolderChanged(name, depth + 1)) return true;
      if (hasConfigurationName(name) && isNewer(statOf(this.workspace.path(name)), this.sinceMs)) return true;
    }
    return false;
  }

  private hasLinkChanged(name: string, depth: number): boolean {
    const path = this.workspace.path(name);
    const isFolder = statOf(path)?.isDirectory() === true;
    if (!isFolder && !hasConfigurationName(name)) return false;
    // The time of the link is that of its last replacement. The target may be older.
    if (isNewer(lstatSync(path, { throwIfNoEntry: false }), this.sinceMs)) return true;
    const followed = followInProject(this.workspace, WORKSPACE_FOLDER, name);
    if (!isFolder || 'fault' in followed || leadsToAncestor(path, followed.path)) return false;
    if (this.linkedFolders.has(followed.path)) return false;
    this.linkedFolders.add(followed.path);
    return this.hasFolderChanged(name, depth + 1);
  }
}

const statOf = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });

const isNewer = (stats: Stats | undefined, sinceMs: number): boolean => (stats?.mtimeMs ?? 0) > sinceMs;
