import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { INTENT_FILE, type Workspace } from '../workspace.js';

const DEPTH_MAX = 8;
/** Folders with work products, which contain no configuration. */
const SKIPPED_FOLDERS = new Set(['events', 'agents', 'snapshots', 'reviews', 'fold-back']);

/**
 * Whether a configuration file may have changed since a time, by the times of the files. May be true without a change.
 * Misses a change if someone sets a time back. Synchronous: asynchronous calls for some hundred files take ten times as
 * long.
 */
export function mayHaveChanged(workspace: Workspace, sinceMs: number): boolean {
  if (isNewer(join(workspace.root, INTENT_FILE), sinceMs)) return true;
  return hasFolderChanged(workspace.folder, sinceMs, 0);
}

function hasFolderChanged(folder: string, sinceMs: number, depth: number): boolean {
  if (depth > DEPTH_MAX) return true;
  // Skip the workspace folder's own time: it changes mostly with folders of work products.
  if (depth > 0 && isNewer(folder, sinceMs)) return true;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (SKIPPED_FOLDERS.has(entry.name) || entry.name.startsWith('.')) continue;
    if (entry.isDirectory() && hasFolderChanged(path, sinceMs, depth + 1)) return true;
    if (/\.ya?ml$/.test(entry.name) && isNewer(path, sinceMs)) return true;
  }
  return false;
}

const isNewer = (path: string, sinceMs: number): boolean =>
  (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > sinceMs;
