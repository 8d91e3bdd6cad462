import { rm } from 'node:fs/promises';
import { parse } from 'yaml';
import { sha256Hex } from '../../coordinator/identity.js';
import { HeldFolder } from '../held-folder.js';
import { readBases, writeBases } from './base-record.js';
import { type DraftPlaces, type ProjectPlace, placesOf, workspaceNames } from './places.js';
import { type DraftRefusal, isRefusal, refusal } from './refusal.js';
import { isRead, readBelow, readSafely, walk } from './safe-read.js';
import { addWorktree, gitFolder, hasWorktree, removeWorktree, type WorktreeOf } from './worktree.js';

export type IsolationKind = 'drafts' | 'worktree';

/** Where an agent works under a grant. Folders are named from the project's root. */
export interface Isolation {
  readonly kind: IsolationKind;
  readonly work: string;
  readonly scratch: string;
  readonly branch: string | null;
}

/** What `coordination.yml` says: `isolation: drafts` or `isolation: worktree`. Whoever says nothing has drafts. */
export async function isolationKind(place: ProjectPlace): Promise<IsolationKind> {
  const path = [...workspaceNames(place), 'coordination.yml'].join('/');
  const read = await readBelow(place.root, path, { links: 'any' });
  if (!isRead(read)) return 'drafts';
  try {
    const said = parse(read.bytes.toString('utf8')) as { isolation?: unknown } | null;
    return said?.isolation === 'worktree' ? 'worktree' : 'drafts';
  } catch {
    // What is wrong with the file is for its reader to say; nobody waits for it here.
    return 'drafts';
  }
}

/** Makes the folders of a grant. Work that is there already, of this grant or one before, is kept. */
export async function isolate(place: ProjectPlace, grant: WorktreeOf): Promise<Isolation | DraftRefusal> {
  const places = placesOf(place, grant);
  if (isRefusal(places)) return places;
  const scratch = places.scratch.join('/');
  const refused = await makeFolder(place, places.scratch);
  if (refused !== null) return refused;
  if ((await isolationKind(place)) === 'worktree' && (await gitFolder(place)) !== null) {
    const worktree = await addWorktree(place, grant);
    if (isRefusal(worktree)) return worktree;
    return { kind: 'worktree', work: worktree.folder, scratch, branch: worktree.branch };
  }
  const blocked = (await makeFolder(place, places.drafts)) ?? (await dropPromoted(place, places));
  return blocked ?? { kind: 'drafts', work: places.drafts.join('/'), scratch, branch: null };
}

/** After a promotion or a release: the worktree goes. Drafts stay; those that were promoted go with the next grant. */
export async function endIsolation(place: ProjectPlace, grant: WorktreeOf): Promise<DraftRefusal | null> {
  return (await hasWorktree(place, grant)) ? removeWorktree(place, grant) : null;
}

async function makeFolder(place: ProjectPlace, names: readonly string[]): Promise<DraftRefusal | null> {
  const folder = await HeldFolder.reach(place.root, names, { make: true });
  const path = names.join('/');
  if (typeof folder === 'string') {
    return refusal('SYMLINK', path, `${path} cannot be made: a link or a file is in its way.`);
  }
  await folder.close();
  return null;
}

/** A draft that is what the project has by now, and was not when it was begun, has done its work. */
async function dropPromoted(place: ProjectPlace, places: DraftPlaces): Promise<DraftRefusal | null> {
  const bases = await readBases(place, places);
  if (isRefusal(bases)) return bases;
  const folder = await HeldFolder.reach(place.root, places.drafts);
  if (typeof folder === 'string') return null;
  const before = bases.size;
  try {
    await walk(folder, async (file) => {
      const draft = await readSafely(file, { links: 'one' });
      const shared = await readBelow(place.root, file.path, { links: 'any' });
      if (!isRead(draft) || !isRead(shared) || !draft.bytes.equals(shared.bytes)) return null;
      const base = bases.get(file.path);
      if (base === undefined || base === sha256Hex(draft.bytes)) return null;
      await rm(file.folder.nameOf(file.name));
      bases.delete(file.path);
      return null;
    });
  } finally {
    await folder.close();
  }
  return bases.size === before ? null : writeBases(place, places, bases);
}
