import type { ProjectKey } from '../store.js';
import { type Disk, type ReadableFile, readSmallFile, writeAtomically } from './disk.js';
import { DURABLE_FILE } from './layout.js';
import { base64urlDigest } from './line.js';
import { visitLines } from './line-reader.js';
import { decodeLine } from './log-line.js';

/** How much of the log was known to be durable when the mark was written. No commit waits for the mark. */
interface DurableMark {
  readonly position: number;
  /** The first position of the active file at that time, and how many of its bytes were durable. */
  readonly first_position: number;
  readonly bytes: number;
}

export async function writeDurableMark(disk: Disk, folder: string, mark: DurableMark): Promise<void> {
  const text = JSON.stringify(mark);
  await writeAtomically(disk, folder, DURABLE_FILE, `${text}\n${base64urlDigest(text)}\n`);
}

/** Null if missing or damaged: the mark only adds to what the log itself proves. */
export async function readDurableMark(disk: Disk, folder: string): Promise<DurableMark | null> {
  const [text = '', digest = ''] = ((await readSmallFile(disk, `${folder}/${DURABLE_FILE}`)) ?? '').split(
    '\n',
  );
  return text !== '' && base64urlDigest(text) === digest ? (JSON.parse(text) as DurableMark) : null;
}

/** How much of the log is known to have been durable: a position, and bytes of the active file. */
export interface DurableProgress {
  position: number;
  bytes: number;
}

/**
 * Adds what the lines of a file after `from` prove. A batch is written only after everything before it is durable, so
 * its first block proves that all of that was durable. A seal counts even if its block is damaged: a crash may
 * leave lines out, but never changes the numbers of a seal. It counts only if its block has an event after `position`,
 * the last position of the log, or a transaction without events that was written at `position` or later: another program
 * may have copied older lines of the log. Lines of the log of another project prove nothing here.
 */
export async function addProvenDurable(
  progress: DurableProgress,
  file: ReadableFile,
  from: number,
  key: ProjectKey | null,
  position: number,
): Promise<void> {
  const raiseProgress = (position: number, bytes: number): void => {
    progress.position = Math.max(progress.position, position);
    progress.bytes = Math.max(progress.bytes, bytes);
  };
  let sinceSeal: UnsealedLine[] = [];
  let hasOtherLog = false;
  await visitLines(file, from, (bytes, offset) => {
    const decoded = decodeLine(bytes);
    if (typeof decoded !== 'string' && decoded.kind === 'v1' && decoded.line.durable !== undefined)
      raiseProgress(decoded.line.durable, offset);
    if (typeof decoded === 'string' || decoded.kind !== 'seal') {
      const content = classifyLine(decoded, key);
      hasOtherLog ||= content.isOther;
      sinceSeal.push({ offset, ...content });
      return;
    }
    const { lines, durable, continues } = decoded.seal;
    // Only as many lines as the seal counts: there are more if the seal of the previous block is damaged.
    const block = sinceSeal.slice(-lines);
    const later = block.find((line) => line.position > position);
    // A seal names as durable only what is before its block.
    const isAfter = later !== undefined && durable < later.position;
    // A line without an event does not name its project.
    const hasEventless = !hasOtherLog && block.some((line) => line.isEventless);
    if (isAfter || (hasEventless && durable >= position))
      raiseProgress(durable, continues === true ? 0 : block.length === lines ? (block[0]?.offset ?? 0) : 0);
    sinceSeal = [];
  });
}

interface UnsealedLine {
  readonly offset: number;
  /** The position of the line's event; 0 if the line has no event of this project, or cannot be read. */
  readonly position: number;
  /** The line is a transaction without an event. */
  readonly isEventless: boolean;
  /** The line is an event of another project. */
  readonly isOther: boolean;
}

function classifyLine(
  decoded: ReturnType<typeof decodeLine>,
  key: ProjectKey | null,
): Omit<UnsealedLine, 'offset'> {
  const isLine = typeof decoded !== 'string' && decoded.kind === 'transaction';
  const event = isLine ? decoded.line.event : null;
  const isOther =
    event !== null &&
    key !== null &&
    !(event.tenant_id === key.tenant_id && event.project_id === key.project_id);
  return { position: isOther ? 0 : (event?.position ?? 0), isEventless: isLine && event === null, isOther };
}
