import { rm } from 'node:fs/promises';
import { OpenFolder } from '../open-folder.js';
import { type BaseDigests, readBases } from './base-record.js';
import { beginDrafts } from './begin.js';
import { type DraftPaths, findDraftPaths, type ProjectFolder } from './draft-paths.js';
import { type DraftRefusal, draftRefusal, isDraftRefusal } from './refusal.js';
import {
  contentDigest,
  type FoundFile,
  isFileContent,
  readBelow,
  readSafely,
  walkFiles,
} from './safe-read.js';
import { writeBelow } from './safe-write.js';
import { Worktree, type WorktreeScope } from './worktree.js';

/** A draft that was refreshed: the present file of the project has replaced it. */
export interface RefreshedDraft {
  readonly path: string;
  /** The copy of the earlier draft, relative to the project's root. */
  readonly earlier: string;
}

/**
 * Replaces each draft whose file in the project has changed since the draft was begun, unless the two are now equal. The
 * old draft is moved to a separate folder, and the file of the project becomes the new draft. Other drafts are not changed.
 * Returns null if the grant works in a git worktree, which has no such drafts.
 */
export async function refreshDrafts(
  project: ProjectFolder,
  grant: WorktreeScope,
): Promise<readonly RefreshedDraft[] | DraftRefusal | null> {
  const paths = await findDraftPaths(project, grant);
  if (isDraftRefusal(paths)) return paths;
  if ((await new Worktree(project, paths, grant.generation).baseCommit()) !== null) return null;
  const bases = await readBases(project, paths.bases);
  if (isDraftRefusal(bases)) return bases;
  const folder = await OpenFolder.openBelow(project.root, paths.drafts);
  if (typeof folder === 'string') return [];
  const refreshed: RefreshedDraft[] = [];
  try {
    const refused = await walkFiles(folder, async (file) => {
      const moved = await moveOutdatedDraft(project, paths, bases, file);
      if (isDraftRefusal(moved)) return moved;
      if (moved !== null) refreshed.push(moved);
      return null;
    });
    if (refused !== null) return refused;
  } finally {
    await folder.close();
  }
  const begun = await beginDrafts(
    project,
    grant,
    refreshed.map(({ path }) => path),
  );
  return isDraftRefusal(begun) ? begun : refreshed;
}

/**
 * Moves a draft to a separate folder if the file in the project differs from it and from its base. Returns null if the
 * draft stays. The copy is complete before the draft is removed.
 */
async function moveOutdatedDraft(
  { root }: ProjectFolder,
  { agent, feature, edge }: DraftPaths,
  bases: BaseDigests,
  file: FoundFile,
): Promise<RefreshedDraft | DraftRefusal | null> {
  const { path } = file;
  if (!bases.has(path)) return null;
  const draft = await readSafely(file, { links: 'one' });
  const shared = await readBelow(root, path, { links: 'any' });
  // A file that cannot be read is refused when the drafts are collected.
  if (!isFileContent(draft) || isDraftRefusal(shared)) return null;
  const sharedSha256 = contentDigest(shared);
  const draftSha256 = contentDigest(draft) ?? '';
  if (sharedSha256 === bases.get(path) || sharedSha256 === draftSha256) return null;
  // The folder is named by the draft's content, so that a second draft of the file does not overwrite the first.
  const earlier = `${agent}/earlier/${feature}/${edge}/${draftSha256.slice(0, 12)}/${path}`;
  if (!(await writeBelow(root, earlier, draft)))
    return draftRefusal('SYMLINK', path, `${earlier} cannot be written: a link or a file blocks its path.`);
  await rm(file.folder.pathOf(file.name));
  return { path, earlier };
}
