import type { Manifest } from '../../core/graph/manifest.js';
import { HeldFolder } from '../held-folder.js';
import { readBases, writeBases } from './base-record.js';
import { Collection, nothing } from './collection.js';
import { type DraftsOf, type ProjectPlace, type PutShelf, placesOf } from './places.js';
import { type DraftRefusal, isRefusal, refusal } from './refusal.js';
import { NO_STEPS, type Steps, walk } from './safe-read.js';
import { collectWorktree, hasWorktree } from './worktree.js';

/**
 * Makes what an agent has written the candidate of an edge: the files of its drafts folder, or, where its grant has a
 * worktree, those changed there. Each is read once; the bytes that are hashed are the bytes that are kept, before
 * anything names them. Nothing shared is touched.
 */
export async function collectDrafts(
  place: ProjectPlace,
  shelf: PutShelf,
  of: DraftsOf & { readonly generation?: number | undefined },
  steps: Steps = NO_STEPS,
): Promise<Manifest | DraftRefusal> {
  const { generation } = of;
  if (generation !== undefined && (await hasWorktree(place, { ...of, generation }))) {
    return collectWorktree(place, shelf, { ...of, generation }, steps);
  }
  return collectFolder(place, shelf, of, steps);
}

/** The bases it found are written down: the same drafts give the same manifest again, also once they are promoted. */
async function collectFolder(
  place: ProjectPlace,
  shelf: PutShelf,
  of: DraftsOf,
  steps: Steps,
): Promise<Manifest | DraftRefusal> {
  const places = placesOf(place, of);
  if (isRefusal(places)) return places;
  const bases = await readBases(place, places);
  if (isRefusal(bases)) return bases;
  const folder = await HeldFolder.reach(place.root, places.drafts);
  const path = places.drafts.join('/');
  if (folder === 'absent') return nothing(path);
  if (typeof folder === 'string') return refusal('SYMLINK', path, `${path} is not a folder of its own.`);
  const collection = new Collection(place, shelf, bases, steps);
  try {
    const refused = await walk(folder, (file) => collection.add(file));
    if (refused !== null) return refused;
  } finally {
    await folder.close();
  }
  const manifest = await collection.manifest(path);
  return isRefusal(manifest) ? manifest : ((await writeBases(place, places, bases)) ?? manifest);
}
