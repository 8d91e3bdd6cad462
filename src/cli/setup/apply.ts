import { mkdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { unlessMissing } from '../../stores/file/disk.js';

/** Our part of a configuration file that may also hold other content. */
export interface ConfigSection {
  readonly path: string;
  /** Description for the user. */
  readonly about: string;
  /** Returns the text with our part in it exactly once, and other content unchanged. Null: there is no file. */
  insert(text: string | null): string;
  /** Returns the text without our part. */
  remove(text: string): string;
  /** Whether the text has our part, as this or another version writes it. */
  has(text: string): boolean;
  /** Whether the text has no content. */
  isEmpty(text: string): boolean;
}

/** A file before and after setup. While it is unchanged, undo restores it exactly. */
export interface WrittenFile {
  readonly path: string;
  /** Null if there was no file. */
  readonly before: string | null;
  readonly after: string;
  /** The topmost folder that was created for it. */
  readonly made_folder: string | null;
}

export type FileChange = 'wrote' | 'unchanged' | 'removed' | 'restored' | 'section_removed';

/** A write that is planned before anything is written. */
interface PlannedWrite extends WrittenFile {
  readonly about: string;
  readonly current: string | null;
}

/** Plans the write of one section. `earlierWrites` are those of this setup and of other clients. */
export async function planSection(
  section: ConfigSection,
  earlierWrites: readonly WrittenFile[],
): Promise<PlannedWrite> {
  const { path, about } = section;
  const current = await readTextOrNull(path);
  const ownWrite = findUnchangedWrite(path, current, earlierWrites);
  const otherText = current === null ? null : section.remove(current);
  const { before, made_folder } = ownWrite ?? { before: otherText, made_folder: null };
  return { path, about, current, before, after: section.insert(before), made_folder };
}

export async function writePlanned(planned: PlannedWrite): Promise<[FileChange, WrittenFile]> {
  const { about: _, current, ...written } = planned;
  const { path, after } = written;
  if (after === current) return ['unchanged', written];
  const made_folder = (await mkdir(dirname(path), { recursive: true })) ?? written.made_folder;
  await writeFile(path, after);
  return ['wrote', { ...written, made_folder }];
}

export async function removeSection(
  section: ConfigSection,
  earlierWrites: readonly WrittenFile[],
): Promise<FileChange> {
  const current = await readTextOrNull(section.path);
  if (current === null) return 'unchanged';
  const ownWrite = findUnchangedWrite(section.path, current, earlierWrites);
  const after = ownWrite === undefined ? section.remove(current) : ownWrite.before;
  if (after === current) return 'unchanged';
  const created = earlierWrites.find(({ path, before }) => path === section.path && before === null);
  if (after !== null && (created === undefined || !section.isEmpty(after))) {
    await writeFile(section.path, after);
    return ownWrite === undefined ? 'section_removed' : 'restored';
  }
  await rm(section.path);
  return 'removed';
}

/** Removes the folders created for these files, innermost first. Stops at a folder that is not empty. */
export async function removeFolders(written: readonly WrittenFile[]): Promise<void> {
  for (const { path, made_folder } of written) {
    if (made_folder === null) continue;
    for (let folder = dirname(path); folder.startsWith(made_folder); folder = dirname(folder)) {
      const failure = await rmdir(folder).catch((error: Error) => error);
      if (failure !== undefined) break;
    }
  }
}

const findUnchangedWrite = (
  path: string,
  current: string | null,
  earlierWrites: readonly WrittenFile[],
): WrittenFile | undefined =>
  earlierWrites.find((written) => written.path === path && written.after === current);

export async function readTextOrNull(path: string): Promise<string | null> {
  return unlessMissing(readFile(path, 'utf8'), null);
}
