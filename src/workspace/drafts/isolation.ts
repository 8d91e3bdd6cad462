import { rm } from 'node:fs/promises';
import { parse } from 'yaml';
import { OpenFolder } from '../open-folder.js';
import { COORDINATION_FILE } from '../project-file.js';
import { WORKSPACE_FOLDER } from '../workspace.js';
import { readBases, writeBases } from './base-record.js';
import { type DraftPaths, findDraftPaths, type ProjectFolder } from './draft-paths.js';
import { type DraftRefusal, draftRefusal, isDraftRefusal } from './refusal.js';
import { contentDigest, isFileContent, readBelow, readSafely, walkFiles } from './safe-read.js';
import { Worktree, type WorktreeScope } from './worktree.js';
import { gitFolder } from './worktree-changes.js';

/** The folders an agent uses under a grant, relative to the project's root. */
export interface GrantFolders {
  readonly kind: 'drafts' | 'worktree';
  readonly work: string;
  readonly scratch: string;
  readonly branch: string | null;
}

/** Whether `coordination.yml` has `isolation: worktree`. The default is `drafts`. */
async function usesWorktrees({ root }: ProjectFolder): Promise<boolean> {
  const read = await readBelow(root, `${WORKSPACE_FOLDER}/${COORDINATION_FILE}`, { links: 'any' });
  if (!isFileContent(read)) return false;
  try {
    const config = parse(read.bytes.toString('utf8')) as { isolation?: unknown } | null;
    return config?.isolation === 'worktree';
  } catch {
    // An invalid file is reported when the configuration is loaded, not here.
    return false;
  }
}

/** Creates the folders of a grant. Existing work, of this grant or an earlier one, is kept, except promoted drafts. */
export async function createGrantFolders(
  project: ProjectFolder,
  grant: WorktreeScope,
): Promise<GrantFolders | DraftRefusal> {
  const paths = await findDraftPaths(project, grant);
  if (isDraftRefusal(paths)) return paths;
  const { drafts, scratch } = paths;
  const refused = await makeFolder(project, scratch);
  if (refused !== null) return refused;
  if ((await usesWorktrees(project)) && (await gitFolder(project.root)) !== null) {
    const worktree = new Worktree(project, paths, grant.generation);
    const { folder: work, branch } = worktree;
    return (await worktree.add()) ?? { kind: 'worktree', work, scratch, branch };
  }
  const blocked = (await makeFolder(project, drafts)) ?? (await removePromotedDrafts(project, paths));
  return blocked ?? { kind: 'drafts', work: drafts, scratch, branch: null };
}

/** Removes the worktree, for use after its result was accepted. Drafts stay; the next grant removes the promoted ones. */
export async function removeGrantFolders(
  project: ProjectFolder,
  grant: WorktreeScope,
): Promise<DraftRefusal | null> {
  const worktree = await worktreeOf(project, grant);
  if (worktree === null || (await worktree.baseCommit()) === null) return null;
  return worktree.remove();
}

/** Removes the worktree of an ended grant if the project has all its changes. Otherwise returns why it is kept. */
export const cleanUpWorktree = async (project: ProjectFolder, grant: WorktreeScope): Promise<string | null> =>
  (await (await worktreeOf(project, grant))?.cleanUp()) ?? null;

/** Null if the grant cannot have a worktree. */
async function worktreeOf(project: ProjectFolder, grant: WorktreeScope): Promise<Worktree | null> {
  const paths = await findDraftPaths(project, grant);
  return isDraftRefusal(paths) ? null : new Worktree(project, paths, grant.generation);
}

async function makeFolder({ root }: ProjectFolder, path: string): Promise<DraftRefusal | null> {
  const folder = await OpenFolder.openBelow(root, path, { make: true });
  if (typeof folder === 'string')
    return draftRefusal('SYMLINK', path, `${path} cannot be created: a link or a file blocks its path.`);
  await folder.close();
  return null;
}

/** Removes drafts that equal the project's files but not their bases: they have been promoted. */
async function removePromotedDrafts(
  project: ProjectFolder,
  { drafts, bases: record }: DraftPaths,
): Promise<DraftRefusal | null> {
  const bases = await readBases(project, record);
  if (isDraftRefusal(bases)) return bases;
  const folder = await OpenFolder.openBelow(project.root, drafts);
  if (typeof folder === 'string') return null;
  const baseCount = bases.size;
  try {
    await walkFiles(folder, async (file) => {
      const draft = await readSafely(file, { links: 'one' });
      const shared = await readBelow(project.root, file.path, { links: 'any' });
      if (!isFileContent(draft) || !isFileContent(shared) || !draft.bytes.equals(shared.bytes)) return null;
      const base = bases.get(file.path);
      if (base === undefined || base === contentDigest(draft)) return null;
      await rm(file.folder.pathOf(file.name));
      bases.delete(file.path);
      return null;
    });
  } finally {
    await folder.close();
  }
  return bases.size === baseCount ? null : writeBases(project, record, bases);
}
