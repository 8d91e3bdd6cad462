import { type BaseDigests, readBases, writeBases } from './base-record.js';
import { type DraftScope, findDraftPaths, type ProjectFolder } from './draft-paths.js';
import { type DraftRefusal, draftRefusal, isDraftRefusal, nameRefusal } from './refusal.js';
import { contentDigest, readBelow } from './safe-read.js';
import { writeBelow } from './safe-write.js';

interface StartedDraft {
  readonly path: string;
  readonly base_sha256: string | null;
  /** Whether the shared file was copied into the drafts. An existing draft is left alone. */
  readonly copied: boolean;
}

/**
 * Records the current shared files as the bases of the drafts, and copies those that have no draft into the drafts folder.
 * An existing draft stays: the caller asserts that it includes the current content of the shared file.
 */
export async function beginDrafts(
  project: ProjectFolder,
  scope: DraftScope,
  paths: readonly string[],
): Promise<{ begun: readonly StartedDraft[] } | DraftRefusal> {
  const folders = await findDraftPaths(project, scope);
  if (isDraftRefusal(folders)) return folders;
  const bases = await readBases(project, folders.bases);
  if (isDraftRefusal(bases)) return bases;
  const begun: StartedDraft[] = [];
  for (const path of paths) {
    const started = nameRefusal(path) ?? (await beginDraft(project.root, path, folders.drafts, bases));
    if (isDraftRefusal(started)) return started;
    begun.push(started);
  }
  return (await writeBases(project, folders.bases, bases)) ?? { begun };
}

async function beginDraft(
  root: string,
  path: string,
  drafts: string,
  bases: BaseDigests,
): Promise<StartedDraft | DraftRefusal> {
  const shared = await readBelow(root, path, { links: 'any' });
  if (isDraftRefusal(shared)) return shared;
  const base_sha256 = contentDigest(shared);
  bases.set(path, base_sha256);
  const draftPath = `${drafts}/${path}`;
  const existing = await readBelow(root, draftPath, { links: 'one' });
  if (isDraftRefusal(existing)) return existing;
  if (shared === null || existing !== null) return { path, base_sha256, copied: false };
  const { bytes, executable } = shared;
  if (await writeBelow(root, draftPath, { bytes, executable })) return { path, base_sha256, copied: true };
  return draftRefusal('NOT_A_FILE', path, `${path} cannot be copied: a link or a file blocks its path.`);
}
