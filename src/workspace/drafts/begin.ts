import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { pathFault } from '../../core/methodology/definition/asset-path.js';
import { type BaseDigests, readBases, writeBases } from './base-record.js';
import { type DraftFolders, type DraftScope, draftFoldersOf, type ProjectFolder } from './draft-folders.js';
import { type DraftRefusal, draftRefusal, isDraftRefusal } from './refusal.js';
import { readBelow } from './safe-read.js';
import { writeBelow } from './safe-write.js';

export interface StartedDraft {
  readonly path: string;
  readonly base_sha256: string | null;
  /** Whether the shared file was copied into the drafts. An existing draft is left alone. */
  readonly copied: boolean;
}

/**
 * Records the current shared files as the bases of the drafts, and copies out files that have no draft. An agent
 * calls it again after the shared files changed, to state that its drafts now include those changes.
 */
export async function beginDrafts(
  project: ProjectFolder,
  scope: DraftScope,
  paths: readonly string[],
): Promise<{ begun: readonly StartedDraft[] } | DraftRefusal> {
  const folders = draftFoldersOf(project, scope);
  if (isDraftRefusal(folders)) return folders;
  const bases = await readBases(project, folders);
  if (isDraftRefusal(bases)) return bases;
  const begun: StartedDraft[] = [];
  for (const path of paths) {
    const fault = pathFault(path);
    if (fault !== null) return draftRefusal('BAD_NAME', path, `${JSON.stringify(path)}: ${fault}.`);
    const started = await beginDraft(project, folders, path, bases);
    if (isDraftRefusal(started)) return started;
    begun.push(started);
  }
  return (await writeBases(project, folders, bases)) ?? { begun };
}

async function beginDraft(
  project: ProjectFolder,
  folders: DraftFolders,
  path: string,
  bases: BaseDigests,
): Promise<StartedDraft | DraftRefusal> {
  const shared = await readBelow(project.root, path, { links: 'any' });
  if (shared !== null && isDraftRefusal(shared)) return shared;
  const base_sha256 = shared === null ? null : sha256Hex(shared.bytes);
  bases.set(path, base_sha256);
  const draft = [...folders.drafts, ...path.split('/')];
  const existing = await readBelow(project.root, draft.join('/'), { links: 'one' });
  if (existing !== null && isDraftRefusal(existing)) return existing;
  if (shared === null || existing !== null) return { path, base_sha256, copied: false };
  const { bytes, executable } = shared;
  const copied = await writeBelow(project.root, draft, { bytes, executable });
  return copied
    ? { path, base_sha256, copied }
    : draftRefusal('NOT_A_FILE', path, `${path} cannot be copied: something is in its way.`);
}
