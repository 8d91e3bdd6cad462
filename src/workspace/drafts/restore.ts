import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ManifestFile } from '../../core/methodology/definition/manifest.js';
import { readBases, writeBases } from './base-record.js';
import { findDraftPaths, type ProjectFolder } from './draft-paths.js';
import { type DraftRefusal, draftRefusal, isDraftRefusal } from './refusal.js';
import { writeBelow } from './safe-write.js';
import { Worktree, type WorktreeScope } from './worktree.js';

/**
 * Writes the files of an earlier candidate that are missing in the folder of a grant, for example because that candidate
 * was made on another machine. Existing files are left alone. Each draft keeps the base of the candidate: without it, a
 * file that has changed in the project since would be overwritten unnoticed.
 */
export async function restoreDrafts(
  project: ProjectFolder,
  grant: WorktreeScope,
  folder: string,
  files: readonly ManifestFile[],
  bytesOf: (file: ManifestFile) => Promise<Uint8Array>,
): Promise<DraftRefusal | null> {
  const missing: ManifestFile[] = [];
  for (const file of files) {
    const existing = await lstat(join(project.root, folder, file.path)).catch(() => null);
    if (existing === null) missing.push(file);
  }
  // Written before the drafts, so that a crash leaves no draft without its base.
  const refused = missing.length === 0 ? null : await recordBases(project, grant, missing);
  if (refused !== null) return refused;
  for (const file of missing) {
    const path = `${folder}/${file.path}`;
    const { executable } = file;
    if (!(await writeBelow(project.root, path, { bytes: await bytesOf(file), executable })))
      return draftRefusal('SYMLINK', path, `${path} cannot be written: a link or a file blocks its path.`);
  }
  return null;
}

/** Records the bases of the files, but none for a worktree: its base is the commit that it was created from. */
async function recordBases(
  project: ProjectFolder,
  grant: WorktreeScope,
  files: readonly ManifestFile[],
): Promise<DraftRefusal | null> {
  const paths = await findDraftPaths(project, grant);
  if (isDraftRefusal(paths)) return paths;
  if ((await new Worktree(project, paths, grant.generation).baseCommit()) !== null) return null;
  const bases = await readBases(project, paths.bases);
  if (isDraftRefusal(bases)) return bases;
  for (const { path, base_sha256 } of files) bases.set(path, base_sha256);
  return writeBases(project, paths.bases, bases);
}
