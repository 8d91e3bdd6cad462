import { rm } from 'node:fs/promises';
import { parse } from 'yaml';
import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { OpenFolder } from '../open-folder.js';
import { readBases, writeBases } from './base-record.js';
import { type DraftFolders, draftFoldersOf, type ProjectFolder, workspaceSegments } from './draft-folders.js';
import { type DraftRefusal, draftRefusal, isDraftRefusal } from './refusal.js';
import { isFileContent, readBelow, readSafely, walkFiles } from './safe-read.js';
import { addWorktree, gitFolder, hasWorktree, removeWorktree, type WorktreeScope } from './worktree.js';

export type IsolationKind = 'drafts' | 'worktree';

/** The folders an agent uses under a grant, relative to the project's root. */
export interface GrantFolders {
  readonly kind: IsolationKind;
  readonly work: string;
  readonly scratch: string;
  readonly branch: string | null;
}

/** Reads `isolation` from `coordination.yml`: `drafts` (the default) or `worktree`. */
export async function isolationKind(project: ProjectFolder): Promise<IsolationKind> {
  const path = [...workspaceSegments(project), 'coordination.yml'].join('/');
  const read = await readBelow(project.root, path, { links: 'any' });
  if (!isFileContent(read)) return 'drafts';
  try {
    const config = parse(read.bytes.toString('utf8')) as { isolation?: unknown } | null;
    return config?.isolation === 'worktree' ? 'worktree' : 'drafts';
  } catch {
    // An invalid file is reported when the configuration is loaded, not here.
    return 'drafts';
  }
}

/** Creates the folders of a grant. Existing work, of this grant or an earlier one, is kept. */
export async function createGrantFolders(
  project: ProjectFolder,
  grant: WorktreeScope,
): Promise<GrantFolders | DraftRefusal> {
  const folders = draftFoldersOf(project, grant);
  if (isDraftRefusal(folders)) return folders;
  const scratch = folders.scratch.join('/');
  const refused = await makeFolder(project, folders.scratch);
  if (refused !== null) return refused;
  if ((await isolationKind(project)) === 'worktree' && (await gitFolder(project)) !== null) {
    const worktree = await addWorktree(project, grant);
    if (isDraftRefusal(worktree)) return worktree;
    return { kind: 'worktree', work: worktree.folder, scratch, branch: worktree.branch };
  }
  const blocked =
    (await makeFolder(project, folders.drafts)) ?? (await removePromotedDrafts(project, folders));
  return blocked ?? { kind: 'drafts', work: folders.drafts.join('/'), scratch, branch: null };
}

/** Removes the worktree after a promotion or a release. Drafts stay; the next grant removes the promoted ones. */
export async function removeGrantFolders(
  project: ProjectFolder,
  grant: WorktreeScope,
): Promise<DraftRefusal | null> {
  return (await hasWorktree(project, grant)) ? removeWorktree(project, grant) : null;
}

async function makeFolder(project: ProjectFolder, names: readonly string[]): Promise<DraftRefusal | null> {
  const folder = await OpenFolder.openBelow(project.root, names, { make: true });
  const path = names.join('/');
  if (typeof folder === 'string') {
    return draftRefusal('SYMLINK', path, `${path} cannot be made: a link or a file is in its way.`);
  }
  await folder.close();
  return null;
}

/** Removes drafts that equal the project's files but not their bases: they have been promoted. */
async function removePromotedDrafts(
  project: ProjectFolder,
  folders: DraftFolders,
): Promise<DraftRefusal | null> {
  const bases = await readBases(project, folders);
  if (isDraftRefusal(bases)) return bases;
  const folder = await OpenFolder.openBelow(project.root, folders.drafts);
  if (typeof folder === 'string') return null;
  const before = bases.size;
  try {
    await walkFiles(folder, async (file) => {
      const draft = await readSafely(file, { links: 'one' });
      const shared = await readBelow(project.root, file.path, { links: 'any' });
      if (!isFileContent(draft) || !isFileContent(shared) || !draft.bytes.equals(shared.bytes)) return null;
      const base = bases.get(file.path);
      if (base === undefined || base === sha256Hex(draft.bytes)) return null;
      await rm(file.folder.pathOf(file.name));
      bases.delete(file.path);
      return null;
    });
  } finally {
    await folder.close();
  }
  return bases.size === before ? null : writeBases(project, folders, bases);
}
