import { sha256Hex } from '../../coordinator/identity.js';
import { git, namesOf } from './git.js';
import { type ProjectPlace, placesOf } from './places.js';
import { isRefusal } from './refusal.js';
import { isRead, readBelow } from './safe-read.js';
import { basesAt, changedIn, placeOf, readBase, removeWorktree, type WorktreeOf } from './worktree.js';

/**
 * The grant has ended: its worktree goes, if all that differs from its base, in it or on its branch, is what the project
 * has by now. Else it stays, and the sentence says why. Null: there is none any more.
 */
export async function tidyWorktree(place: ProjectPlace, of: WorktreeOf): Promise<string | null> {
  const places = placesOf(place, of);
  if (isRefusal(places)) return null;
  const { names, record, branch } = placeOf(places, of.generation);
  const base_commit = await readBase(place, record);
  if (base_commit === null) return null;
  const where = names.join('/');
  const left = (await leftIn(place, where, base_commit)) ?? (await leftOn(place, branch, base_commit));
  if (left !== null) return `${where} is kept: ${left}`;
  const failed = await removeWorktree(place, of);
  return failed === null ? null : `${where} is kept: ${failed.says}`;
}

/** What only the worktree has. */
async function leftIn(place: ProjectPlace, where: string, base_commit: string): Promise<string | null> {
  const changed = await changedIn(place, where, base_commit);
  if (isRefusal(changed)) return changed.says;
  for (const path of changed) {
    const here = await digestAt(place, `${where}/${path}`);
    if (here === null || here !== (await digestAt(place, path))) return notThere(path);
  }
  return null;
}

/** What only its branch has. */
async function leftOn(place: ProjectPlace, branch: string, base_commit: string): Promise<string | null> {
  const range = [base_commit, `refs/heads/${branch}`];
  const asked = await git(place.root, ['diff', '--name-only', '--no-renames', '-z', ...range, '--']);
  if (!asked.ok) return asked.says;
  const paths = namesOf(asked.out);
  const committed = await basesAt(place, `refs/heads/${branch}`, paths);
  if (isRefusal(committed)) return committed.says;
  for (const path of paths) {
    if (committed.get(path) !== (await digestAt(place, path))) return notThere(path);
  }
  return null;
}

async function digestAt(place: ProjectPlace, path: string): Promise<string | null> {
  const read = await readBelow(place.root, path, { links: 'any' });
  return isRead(read) ? sha256Hex(read.bytes) : null;
}

const notThere = (path: string): string => `the project does not have its ${path}.`;
