import { createHash } from 'node:crypto';
import { type Disk, readSmallFile, writeAtomically } from './disk.js';
import { DURABLE_FILE } from './layout.js';

/** How far the log was known durable when the mark was written: a note beside the log, never in a reply's way. */
export interface DurableMark {
  readonly position: number;
  /** The active file then, by its first position, and how many of its bytes were durable. */
  readonly first_position: number;
  readonly bytes: number;
}

export async function writeDurableMark(disk: Disk, folder: string, mark: DurableMark): Promise<void> {
  const text = JSON.stringify(mark);
  await writeAtomically(disk, folder, DURABLE_FILE, `${text}\n${digestOf(text)}\n`);
}

/** Null when there is none, or when it is damaged: it only ever adds to what the log itself tells. */
export async function readDurableMark(disk: Disk, folder: string): Promise<DurableMark | null> {
  const [text = '', digest = ''] = ((await readSmallFile(disk, `${folder}/${DURABLE_FILE}`)) ?? '').split(
    '\n',
  );
  return text !== '' && digestOf(text) === digest ? (JSON.parse(text) as DurableMark) : null;
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
