import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../../coordinator/identity.js';
import { pathFault } from '../../core/graph/asset-path.js';
import { MANIFEST_FILES_MAX, type Manifest } from '../../core/graph/manifest.js';
import { HeldFolder } from '../held-folder.js';
import type { Bases } from './base-record.js';
import { Collection } from './collection.js';
import { type GitResult, git, namesOf } from './git.js';
import { type DraftPlaces, type DraftsOf, type ProjectPlace, type PutShelf, placesOf } from './places.js';
import { type DraftRefusal, isRefusal, refusal } from './refusal.js';
import { isRead, NO_STEPS, readBelow, type Steps } from './safe-read.js';
import { writeBelow } from './safe-write.js';

/** Whose worktree, of what, under which grant. */
export interface WorktreeOf extends DraftsOf {
  readonly generation: number;
}

export interface Worktree {
  /** From the project's root. */
  readonly folder: string;
  readonly branch: string;
  readonly base_commit: string;
}

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
const recordSchema = z.strictObject({ base_commit: z.string().regex(COMMIT) });

/** Where the worktree of a grant lies, and its branch. Ids are escaped, dots too: a name of git's has no two in a row. */
export function placeOf(places: DraftPlaces, generation: number) {
  const folder = [...places.agent, 'worktrees'];
  const name = `${places.feature}__${places.edge}-gen${generation}`;
  const ref = (part: string) => part.replaceAll('.', '%2E');
  const branch = `gen/${ref(places.feature)}/${ref(places.edge)}/${generation}`;
  return { names: [...folder, name], record: [...folder, `${name}.base.json`], branch };
}

/** The folder of the repository itself; null: the project is none, or only part of one. */
export async function gitFolder(place: ProjectPlace): Promise<string | null> {
  const prefix = await git(place.root, ['rev-parse', '--show-prefix']);
  if (!prefix.ok || lineOf(prefix) !== '') return null;
  const common = await git(place.root, ['rev-parse', '--path-format=absolute', '--git-common-dir']);
  return common.ok ? lineOf(common) : null;
}

const lineOf = (asked: GitResult): string => (asked.ok ? asked.out.toString('utf8').replace(/\n$/, '') : '');

export async function hasWorktree(place: ProjectPlace, of: WorktreeOf): Promise<boolean> {
  const places = placesOf(place, of);
  return !isRefusal(places) && (await readBase(place, placeOf(places, of.generation).record)) !== null;
}

/** A worktree for a grant, at the commit the project is at. There already: the same again, with all that is in it. */
export async function addWorktree(place: ProjectPlace, of: WorktreeOf): Promise<Worktree | DraftRefusal> {
  const places = placesOf(place, of);
  if (isRefusal(places)) return places;
  const { names, record, branch } = placeOf(places, of.generation);
  const folder = names.join('/');
  const before = await readBase(place, record);
  const base_commit = before ?? lineOf(await git(place.root, ['rev-parse', '--verify', 'HEAD^{commit}']));
  if (!COMMIT.test(base_commit)) return noWorktree(folder, 'the project has no commit to start from');
  if (before !== null && (await isFolder(place, names))) return { folder, branch, base_commit };
  const bytes = Buffer.from(`${JSON.stringify({ base_commit })}\n`);
  if (!(await writeBelow(place.root, record, { bytes })))
    return noWorktree(folder, 'something is in its way');
  const known = await git(place.root, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`]);
  // Who lost the folder keeps what was committed on its branch.
  const what = known.ok ? ['--', folder, branch] : ['-b', branch, '--', folder, base_commit];
  const added = await git(place.root, ['worktree', 'add', '--quiet', '--force', ...what]);
  return added.ok ? { folder, branch, base_commit } : noWorktree(folder, added.says);
}

async function isFolder(place: ProjectPlace, names: readonly string[]): Promise<boolean> {
  const folder = await HeldFolder.reach(place.root, names);
  if (typeof folder === 'string') return false;
  await folder.close();
  return true;
}

const noWorktree = (path: string, why: string): DraftRefusal =>
  refusal('NO_WORKTREE', path, `There is no worktree at ${path}: ${why}.`);

export async function readBase(place: ProjectPlace, record: readonly string[]): Promise<string | null> {
  const read = await readBelow(place.root, record.join('/'), { links: 'one' });
  if (!isRead(read)) return null;
  try {
    return recordSchema.parse(JSON.parse(read.bytes.toString('utf8'))).base_commit;
  } catch {
    return null;
  }
}

/** What was changed in a worktree since its base becomes the candidate, read as drafts are. */
export async function collectWorktree(
  place: ProjectPlace,
  shelf: PutShelf,
  of: WorktreeOf,
  steps: Steps = NO_STEPS,
): Promise<Manifest | DraftRefusal> {
  const places = placesOf(place, of);
  if (isRefusal(places)) return places;
  const { names, record } = placeOf(places, of.generation);
  const where = names.join('/');
  const base_commit = await readBase(place, record);
  if (!(await isFolder(place, names))) return noWorktree(where, 'it was never made, or is gone');
  if (base_commit === null) return refusal('BAD_BASE', where, `Nothing says what ${where} was begun from.`);
  const changed = await changedIn(place, where, base_commit);
  if (isRefusal(changed)) return changed;
  const bases = await basesAt(place, base_commit, changed);
  if (isRefusal(bases)) return bases;
  const collection = new Collection(place, shelf, bases, steps);
  for (const path of changed) {
    const refused = await addFrom(place, names, path, collection);
    if (refused !== null) return refused;
  }
  return collection.manifest(where);
}

async function addFrom(
  place: ProjectPlace,
  names: readonly string[],
  path: string,
  collection: Collection,
): Promise<DraftRefusal | null> {
  const parts = path.split('/');
  const folder = await HeldFolder.reach(place.root, [...names, ...parts.slice(0, -1)]);
  if (typeof folder === 'string')
    return refusal('SYMLINK', path, `A folder on the way to ${path} is a link.`);
  try {
    return await collection.add({ path, folder, name: parts.at(-1) as string });
  } finally {
    await folder.close();
  }
}

/**
 * What differs from the base, and what is new and not ignored. The repository and the index are ours: whatever the
 * worktree says about itself could lead git to settings of somebody else's.
 */
export async function changedIn(
  place: ProjectPlace,
  where: string,
  base_commit: string,
): Promise<string[] | DraftRefusal> {
  const git_folder = await gitFolder(place);
  if (git_folder === null) return noWorktree(where, 'the project is no git repository');
  const scratch = await mkdtemp(join(tmpdir(), 'gen-index-'));
  const worktree = join(place.root, where);
  const env = { GIT_DIR: git_folder, GIT_WORK_TREE: worktree, GIT_INDEX_FILE: join(scratch, 'index') };
  try {
    const read = await git(worktree, ['read-tree', base_commit], { env });
    if (!read.ok) return noWorktree(where, read.says);
    const base = await git(worktree, ['ls-files', '--stage', '-z', '--'], { env });
    // Once: whatever it has no times of, it reads whole.
    const diff = ['diff', '--no-ext-diff', '--no-textconv', '--no-renames', '--ignore-submodules=all', '-z'];
    const differs = await git(worktree, [...diff, '--name-status', '--'], { env });
    const added = await git(worktree, ['ls-files', '--others', '--exclude-standard', '-z', '--'], { env });
    for (const asked of [base, differs, added]) if (!asked.ok) return noWorktree(where, asked.says);
    return (await submoduleFault(place, where, base)) ?? judged(statusesOf(differs), listed(added));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

const listed = (asked: GitResult): string[] => (asked.ok ? namesOf(asked.out) : []);

/** Of each path that differs a letter: `D` where it is gone. */
function statusesOf(differs: GitResult): ReadonlyMap<string, string> {
  const said = listed(differs);
  const pairs = Array.from({ length: said.length / 2 }, (_, at) => [said[2 * at + 1], said[2 * at]] as const);
  return new Map(pairs as [string, string][]);
}

/** No git is run in a submodule, whose settings are the agent's: what lies there would be lost without a word. */
async function submoduleFault(
  place: ProjectPlace,
  where: string,
  base: GitResult,
): Promise<DraftRefusal | null> {
  for (const line of listed(base)) {
    const [, path] = /^160000 [^\t]*\t(.*)$/s.exec(line) ?? [];
    if (path === undefined) continue;
    const folder = await HeldFolder.reach(place.root, [...where.split('/'), ...path.split('/')]);
    if (folder === 'absent') continue;
    const empty = typeof folder !== 'string' && (await folder.names()).length === 0;
    if (typeof folder !== 'string') await folder.close();
    if (!empty) return refusal('NOT_A_FILE', path, `${path} is a submodule, and stays empty in a worktree.`);
  }
  return null;
}

function judged(differs: ReadonlyMap<string, string>, added: readonly string[]): string[] | DraftRefusal {
  const [deleted] = [...differs].find(([, status]) => status === 'D') ?? [];
  if (deleted !== undefined) return refusal('DELETION', deleted, `${deleted} was removed in the worktree.`);
  const nested = added.find((path) => path.endsWith('/'));
  if (nested !== undefined) return refusal('NOT_A_FILE', nested, `${nested} is a repository of its own.`);
  const paths = [...differs.keys(), ...added];
  if (paths.length > MANIFEST_FILES_MAX) {
    return refusal(
      'TOO_MANY',
      '',
      `There are more than ${MANIFEST_FILES_MAX} changed files in the worktree.`,
    );
  }
  for (const path of paths) {
    const fault = pathFault(path);
    if (fault !== null) return refusal('BAD_NAME', path, `${JSON.stringify(path)}: ${fault}.`);
  }
  return paths;
}

/**
 * The digests of files at a commit, as git would put them on this disk: their line ends may differ from what it keeps.
 * Null where a path was not there. They are written where nobody else is, a link as the text it holds.
 */
export async function basesAt(
  place: ProjectPlace,
  commit: string,
  paths: readonly string[],
): Promise<Bases | DraftRefusal> {
  const git_folder = await gitFolder(place);
  if (git_folder === null) return noWorktree(commit, 'the project is no git repository');
  const scratch = await mkdtemp(join(tmpdir(), 'gen-base-'));
  const files = join(scratch, 'files');
  const env = { GIT_DIR: git_folder, GIT_WORK_TREE: files, GIT_INDEX_FILE: join(scratch, 'index') };
  try {
    await mkdir(files);
    const read = await git(files, ['read-tree', commit], { env });
    const known = new Set(listed(await git(files, ['ls-files', '-z', '--'], { env })));
    const input = paths.filter((path) => known.has(path)).map((path) => `${path}\0`);
    const put = ['-c', 'core.symlinks=false', 'checkout-index', '-z', '--stdin'];
    const written = await git(files, put, { env, input: input.join('') });
    for (const asked of [read, written]) if (!asked.ok) return noWorktree(commit, asked.says);
    return await digestsBelow(files, paths);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function digestsBelow(folder: string, paths: readonly string[]): Promise<Bases> {
  const bases: Bases = new Map();
  for (const path of paths) {
    const read = await readBelow(folder, path, { links: 'any' });
    bases.set(path, isRead(read) ? sha256Hex(read.bytes) : null);
  }
  return bases;
}

/** Takes a worktree away once it is of no more use. What was refused keeps its worktree: nothing in it is lost. */
export async function removeWorktree(place: ProjectPlace, of: WorktreeOf): Promise<DraftRefusal | null> {
  const places = placesOf(place, of);
  if (isRefusal(places)) return places;
  const { names, record, branch } = placeOf(places, of.generation);
  if (await isFolder(place, names)) {
    const removed = await git(place.root, ['worktree', 'remove', '--force', '--', names.join('/')]);
    if (!removed.ok) return noWorktree(names.join('/'), removed.says);
  }
  await git(place.root, ['branch', '--quiet', '-D', '--', branch]);
  const folder = await HeldFolder.reach(place.root, record.slice(0, -1));
  if (typeof folder === 'string') return null;
  await rm(folder.nameOf(record.at(-1) as string), { force: true });
  await folder.close();
  return null;
}
