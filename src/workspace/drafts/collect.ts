import type { ResultManifest } from '../../core/methodology/definition/manifest.js';
import { OpenFolder } from '../open-folder.js';
import { readBases, writeBases } from './base-record.js';
import { DraftCollector, noDraftsRefusal } from './draft-collector.js';
import { type BlobTarget, type DraftScope, draftFoldersOf, type ProjectFolder } from './draft-folders.js';
import { type DraftRefusal, draftRefusal, isDraftRefusal } from './refusal.js';
import { noopStepHook, type StepHook, walkFiles } from './safe-read.js';
import { collectWorktree, hasWorktree } from './worktree.js';

/**
 * Builds an edge's candidate from what an agent has written: the files of its drafts folder or, if its grant has a
 * worktree, those changed there. Each file is read once, so the stored bytes are the hashed ones, and they are
 * stored before the manifest names them. Shared files are not touched.
 */
export async function collectDrafts(
  project: ProjectFolder,
  target: BlobTarget,
  scope: DraftScope & { readonly generation?: number | undefined },
  onStep: StepHook = noopStepHook,
): Promise<ResultManifest | DraftRefusal> {
  const { generation } = scope;
  if (generation !== undefined && (await hasWorktree(project, { ...scope, generation }))) {
    return collectWorktree(project, target, { ...scope, generation }, onStep);
  }
  return collectFolder(project, target, scope, onStep);
}

/**
 * Collects the drafts folder. Records the bases it found, so that the same drafts give the same manifest again,
 * even after they are promoted.
 */
async function collectFolder(
  project: ProjectFolder,
  target: BlobTarget,
  scope: DraftScope,
  onStep: StepHook,
): Promise<ResultManifest | DraftRefusal> {
  const folders = draftFoldersOf(project, scope);
  if (isDraftRefusal(folders)) return folders;
  const bases = await readBases(project, folders);
  if (isDraftRefusal(bases)) return bases;
  const folder = await OpenFolder.openBelow(project.root, folders.drafts);
  const path = folders.drafts.join('/');
  if (folder === 'absent') return noDraftsRefusal(path);
  if (typeof folder === 'string') return draftRefusal('SYMLINK', path, `${path} is not a folder of its own.`);
  const collection = new DraftCollector(project, target, bases, onStep);
  try {
    const refused = await walkFiles(folder, (file) => collection.add(file));
    if (refused !== null) return refused;
  } finally {
    await folder.close();
  }
  const manifest = await collection.manifest(path);
  return isDraftRefusal(manifest) ? manifest : ((await writeBases(project, folders, bases)) ?? manifest);
}
