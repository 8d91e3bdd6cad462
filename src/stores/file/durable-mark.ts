import { createHash } from 'node:crypto';
import { type Disk, readSmallFile, writeAtomically } from './disk.js';
import { DURABLE_FILE } from './layout.js';

/** How much of the log was known to be durable when the mark was written. A file beside the log; no reply waits for it. */
export interface DurableMark {
  readonly position: number;
  /** The first position of the active file at that time, and how many of its bytes were durable. */
  readonly first_position: number;
  readonly bytes: number;
}

export async function writeDurableMark(disk: Disk, folder: string, mark: DurableMark): Promise<void> {
  const text = JSON.stringify(mark);
  await writeAtomically(disk, folder, DURABLE_FILE, `${text}\n${digestOf(text)}\n`);
}

/** Null if missing or damaged: the mark only adds to what the log itself proves. */
export async function readDurableMark(disk: Disk, folder: string): Promise<DurableMark | null> {
  const [text = '', digest = ''] = ((await readSmallFile(disk, `${folder}/${DURABLE_FILE}`)) ?? '').split(
    '\n',
  );
  return text !== '' && digestOf(text) === digest ? (JSON.parse(text) as DurableMark) : null;
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
