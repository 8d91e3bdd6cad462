import { mkdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Part } from './part.js';

/** A file as it was before us and as we left it: while it is still that, taking back is exact. */
export interface Written {
  readonly path: string;
  /** Null: there was none. */
  readonly before: string | null;
  readonly after: string;
  /** The uppermost folder that was made for it. */
  readonly made_folder: string | null;
}

export type Change = 'wrote' | 'left' | 'removed' | 'restored';

/** What is to be written where, found out before anything is. */
export interface Planned extends Written {
  readonly about: string;
  readonly current: string | null;
}

/** `known`: what was written here before, by this setup or that of another client. */
export async function planPart(part: Part, known: readonly Written[]): Promise<Planned> {
  const { path, about } = part;
  const current = await textOf(path);
  const ours = writtenAs(path, current, known);
  const before = ours === undefined ? (current === null ? null : part.take(current)) : ours.before;
  return { path, about, current, before, after: part.put(before), made_folder: ours?.made_folder ?? null };
}

export async function writePlanned(planned: Planned): Promise<[Change, Written]> {
  const { about: _, current, ...written } = planned;
  const { path, after } = written;
  if (after === current) return ['left', written];
  const made_folder = (await mkdir(dirname(path), { recursive: true })) ?? written.made_folder;
  await writeFile(path, after);
  return ['wrote', { ...written, made_folder }];
}

export async function takePart(part: Part, known: readonly Written[]): Promise<Change> {
  const current = await textOf(part.path);
  if (current === null) return 'left';
  const ours = writtenAs(part.path, current, known);
  const after = ours === undefined ? part.take(current) : ours.before;
  if (after === current) return 'left';
  const created = known.find(({ path, before }) => path === part.path && before === null);
  if (after !== null && (created === undefined || !part.isEmpty(after))) {
    await writeFile(part.path, after);
    return 'restored';
  }
  await rm(part.path);
  return 'removed';
}

/** The folders that were made for what was written, from the inside out; one that holds something stays. */
export async function removeFolders(written: readonly Written[]): Promise<void> {
  for (const { path, made_folder } of written) {
    if (made_folder === null) continue;
    for (let folder = dirname(path); folder.startsWith(made_folder); folder = dirname(folder)) {
      const is_gone = await rmdir(folder).then(
        () => true,
        () => false,
      );
      if (!is_gone) break;
    }
  }
}

const writtenAs = (path: string, current: string | null, known: readonly Written[]): Written | undefined =>
  known.find((written) => written.path === path && written.after === current);

export async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
