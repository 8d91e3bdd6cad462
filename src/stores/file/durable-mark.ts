import { type Disk, readSmallFile, writeAtomically } from './disk.js';
import { DURABLE_FILE } from './layout.js';
import { decodeLine, digestOf } from './line.js';

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

/** How much of the log is known to have been durable: a position, and bytes of the active file. */
export interface DurableProgress {
  position: number;
  bytes: number;
}

/**
 * Updates the progress from a line. A batch is written only after everything before it is durable, so a whole line that
 * begins a batch proves how much was durable.
 */
export function recordDurable(progress: DurableProgress, line: Buffer, offset: number): void {
  const decoded = decodeLine(line);
  if (typeof decoded === 'string' || decoded.log.durable === undefined) return;
  progress.bytes = Math.max(progress.bytes, offset);
  progress.position = Math.max(progress.position, decoded.log.durable);
}
