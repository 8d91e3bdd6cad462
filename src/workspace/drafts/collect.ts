import { genCommand } from '../../core/methodology/definition/command.js';
import type { ResultManifest } from '../../core/methodology/definition/manifest.js';
import { OpenFolder } from '../open-folder.js';
import { readBases, writeBases } from './base-record.js';
import { DraftCollector, noDraftsRefusal } from './draft-collector.js';
import { type BlobTarget, type DraftScope, findDraftPaths, type ProjectFolder } from './draft-paths.js';
import { type DraftRefusal, draftRefusal, isDraftRefusal, WORKTREE_BASE_CHANGED } from './refusal.js';
import { noopStepHook, type StepHook, walkFiles } from './safe-read.js';
import { Worktree } from './worktree.js';

/**
 * Builds an edge's candidate from what an agent has written: the files of its drafts folder or, if its grant has a
 * worktree, those changed there. Each file is read once, so the stored bytes are those that were hashed, and
 * they are stored before the manifest names them. Shared files are not touched.
 *
 * Records the bases of the drafts, so that the same drafts give the same manifest again, even after they are promoted.
 */
export async function collectDrafts(
  project: ProjectFolder,
  target: BlobTarget,
  scope: DraftScope & { readonly generation?: number | undefined },
  onStep: StepHook = noopStepHook,
): Promise<ResultManifest | DraftRefusal> {
  const paths = await findDraftPaths(project, scope);
  if (isDraftRefusal(paths)) return paths;
  const worktree = scope.generation === undefined ? null : new Worktree(project, paths, scope.generation);
  const baseCommit = (await worktree?.baseCommit()) ?? null;
  if (worktree !== null && baseCommit !== null)
    return withBaseAdvice(await worktree.collect(target, baseCommit, onStep), WORKTREE_BASE_CHANGED);
  const { drafts } = paths;
  const bases = await readBases(project, paths.bases);
  if (isDraftRefusal(bases)) return bases;
  const folder = await OpenFolder.openBelow(project.root, drafts);
  if (folder === 'absent') return noDraftsRefusal(drafts);
  if (typeof folder === 'string') return draftRefusal('SYMLINK', drafts, `${drafts} is a link or a file.`);
  const collection = new DraftCollector(project.root, target, bases, onStep);
  try {
    const refused = await walkFiles(folder, (file) => collection.add(file));
    if (refused !== null) return refused;
  } finally {
    await folder.close();
  }
  const refresh = genCommand('task', 'refresh-drafts', scope.subject);
  const advice = `Begin these drafts again: ${refresh}. Repeat your changes in them, then submit.`;
  const manifest = withBaseAdvice(await collection.manifest(drafts), advice);
  return isDraftRefusal(manifest) ? manifest : ((await writeBases(project, paths.bases, bases)) ?? manifest);
}

const withBaseAdvice = (
  collected: ResultManifest | DraftRefusal,
  next: string,
): ResultManifest | DraftRefusal =>
  isDraftRefusal(collected) && collected.refused === 'BASE_CHANGED' ? { ...collected, next } : collected;
