import { sha256Hex } from '../../coordinator/identity.js';
import { pathFault } from '../../core/graph/asset-path.js';
import { type Bases, readBases, writeBases } from './base-record.js';
import { type DraftPlaces, type DraftsOf, type ProjectPlace, placesOf } from './places.js';
import { type DraftRefusal, isRefusal, refusal } from './refusal.js';
import { readBelow } from './safe-read.js';
import { writeBelow } from './safe-write.js';

export interface Begun {
  readonly path: string;
  readonly base_sha256: string | null;
  /** The shared file was copied into the drafts; a draft that is there already is left alone. */
  readonly copied: boolean;
}

/**
 * Says of shared files: the drafts rest on them as they are now. A file without a draft is copied out. Said again after
 * the files have moved, it is how an agent tells that it has brought its drafts up to them.
 */
export async function beginDrafts(
  place: ProjectPlace,
  of: DraftsOf,
  paths: readonly string[],
): Promise<{ begun: readonly Begun[] } | DraftRefusal> {
  const places = placesOf(place, of);
  if (isRefusal(places)) return places;
  const bases = await readBases(place, places);
  if (isRefusal(bases)) return bases;
  const begun: Begun[] = [];
  for (const path of paths) {
    const fault = pathFault(path);
    if (fault !== null) return refusal('BAD_NAME', path, `${JSON.stringify(path)}: ${fault}.`);
    const one = await begin(place, places, path, bases);
    if (isRefusal(one)) return one;
    begun.push(one);
  }
  return (await writeBases(place, places, bases)) ?? { begun };
}

async function begin(
  place: ProjectPlace,
  places: DraftPlaces,
  path: string,
  bases: Bases,
): Promise<Begun | DraftRefusal> {
  const shared = await readBelow(place.root, path, { links: 'any' });
  if (shared !== null && isRefusal(shared)) return shared;
  const base_sha256 = shared === null ? null : sha256Hex(shared.bytes);
  bases.set(path, base_sha256);
  const draft = [...places.drafts, ...path.split('/')];
  const there = await readBelow(place.root, draft.join('/'), { links: 'one' });
  if (there !== null && isRefusal(there)) return there;
  if (shared === null || there !== null) return { path, base_sha256, copied: false };
  const { bytes, executable } = shared;
  const copied = await writeBelow(place.root, draft, { bytes, executable });
  return copied
    ? { path, base_sha256, copied }
    : refusal('NOT_A_FILE', path, `${path} cannot be copied: something is in its way.`);
}
