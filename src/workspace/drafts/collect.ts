import type { ResultManifest } from '../../core/graph/manifest.js';
import { OpenFolder } from '../open-folder.js';
import { readBases, writeBases } from './base-record.js';
import { DraftCollector, noDraftsRefusal } from './draft-collector.js';
import { type BlobTarget, type DraftScope, draftFoldersOf, type ProjectFolder } from './draft-folders.js';
import { type DraftRefusal, draftRefusal, isDraftRefusal } from './refusal.js';
import { noopStepHook, type StepHook, walkFiles } from './safe-read.js';
import { collectWorktree, hasWorktree } from './worktree.js';

/**
 * Makes what an agent has written the candidate of an edge: the files of its drafts folder, or, where its grant has a
 * worktree, those changed there. Each is read once; the bytes that are hashed are the bytes that are kept, before
 * anything names them. Nothing shared is touched.
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

/** The bases it found are written down: the same drafts give the same manifest again, also once they are promoted. */
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
