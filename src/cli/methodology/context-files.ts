import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { type ContextManifest, hashContextFiles } from '../../core/engine/context-hash.js';
import { readWorkspaceFiles } from '../../workspace/read-files.js';
import { walkTextFiles } from '../../workspace/scan/walk.js';
import type { Workspace } from '../../workspace/workspace.js';

/** Files that are not part of the context: features are work, and change with every step. */
const EXCLUDED_PATHS = /^features\//;
const CONTEXT_FOLDERS = ['.ai-workspace/context', 'specification'] as const;

/**
 * The manifest of what agents work from: the methodology configuration, and every text file in the context and
 * specification folders.
 */
export async function buildContextManifest(workspace: Workspace): Promise<ContextManifest> {
  const files = new Map<string, string>();
  for (const [path, text] of (await readWorkspaceFiles(workspace)).files) {
    if (!EXCLUDED_PATHS.test(path))
      files.set(path.startsWith('specification/') ? path : `.ai-workspace/${path}`, text);
  }
  for (const folder of CONTEXT_FOLDERS) {
    for await (const { path, text } of walkTextFiles(`${workspace.root}/${folder}`, () => {})) {
      files.set(`${folder}/${path}`, text);
    }
  }
  return hashContextFiles(files, sha256Hex);
}
