import type { EventEnvelope } from '../../core/events/envelope.js';
import { isObject } from '../../core/events/plain-data.js';
import type { ProjectKey } from '../store.js';
import { type Disk, type DiskFile, readFully, withFile } from './disk.js';
import { readDurableMark } from './durable-mark.js';
import { ACTIVE_FILE, closedSegmentPositions, segmentPath } from './layout.js';
import { CHAIN_START } from './line.js';
import { LogCheck, type LogEnd } from './log-check.js';
import { decodeText } from './log-line.js';
import { SEAL_BYTES_MAX, type Seal, SealInput, sealAtEnd, sealedText } from './seal.js';
import { type SkimmedLine, skimLine } from './skimmed-line.js';

/** Small enough that the garbage of one chunk is cheap to collect before the next is read. */
const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

/** A place in a log after the seal of a block, to continue reading from. */
export interface LogPoint {
  readonly key: ProjectKey;
  readonly position: number;
  /** The seal of that block, which covers everything before it. */
  readonly seal: string;
  /** The file that contains the place, by the position of its first event, and the bytes before the place. */
  readonly segment: { readonly first_position: number; readonly bytes: number };
}

/** `end` null: the log does not end with a seal, so no reader can continue from there. */
export interface UnverifiedRead {
  readonly end: LogPoint | null;
}

/**
 * Reads a log for display only; nothing may be decided on it. Every line must name the project, the next position and
 * its part of the transaction, every seal must count the lines of its block, and the log must reach as far as it was
 * known to be durable: torn, missing or reordered lines are detected. The contents are trusted: only the digest of the
 * last block is computed, because another program may have imitated that block. Recovery and `gen verify` compute every
 * digest.
 *
 * Reads the events after `from`, which must be a place in this very log. Null: something does not match, or a writer
 * was active. The caller must then discard what was read.
 */
export async function readLogUnverified(
  disk: Disk,
  folder: string,
  onEvent: (event: EventEnvelope) => void,
  from: LogPoint | null = null,
): Promise<UnverifiedRead | null> {
  const mark = await readDurableMark(disk, folder);
  const { key = null, seal = CHAIN_START, position = 0 } = from ?? {};
  const logEnd: LogEnd = { key, seal, position, foreign: [], isFormat1: from === null };
  const check: LogCheck<null> = new LogCheck(logEnd, {
    onTransaction: (lines) => {
      for (const { line } of lines) if (line.event !== null) onEvent(line.event);
    },
    onWhole: () => {},
  });
  const log: UnverifiedLog = { check, lastBlock: new LastBlock(seal), from, isFromFound: from === null };
  // The active file is opened before the closed files are listed: if it is closed meanwhile, its first position is read
  // twice, which is detected.
  const active = await disk.openRead(`${folder}/${ACTIVE_FILE}`);
  let segment: LogPoint['segment'] | null = null;
  try {
    for (const first_position of await closedSegmentPositions(disk, folder)) {
      if (from !== null && first_position < from.segment.first_position) continue;
      const path = segmentPath(folder, first_position);
      const bytes = await withFile(disk, path, (file) => readFileUnverified(file, first_position, log));
      if (bytes === null) return null;
      segment = { first_position, bytes };
    }
    const first_position =
      segment === null && from !== null ? from.segment.first_position : logEnd.position + 1;
    const bytes = active === null ? 0 : await readFileUnverified(active, first_position, log);
    if (bytes === null) return null;
    if (bytes > 0) segment = { first_position, bytes };
  } finally {
    await active?.close();
  }
  const isWhole = log.isFromFound && logEnd.position >= (mark?.position ?? 0);
  if (!isWhole || !log.lastBlock.isSealed()) return null;
  return { end: endPoint(logEnd, segment) };
}

function endPoint(
  { key, position, seal, foreign, isFormat1 }: LogEnd,
  segment: LogPoint['segment'] | null,
): LogPoint | null {
  if (key === null || segment === null || isFormat1 || foreign.length > 0) return null;
  return { key, position, seal, segment };
}

interface UnverifiedLog {
  readonly check: LogCheck<null>;
  readonly lastBlock: LastBlock;
  readonly from: LogPoint | null;
  isFromFound: boolean;
}

/** The last block of a log, whose seal is verified. An imitation of any other block would not fit the lines after it. */
class LastBlock {
  private lines: string[] = [];
  private lastSealed: {
    readonly lines: string[];
    readonly seal: Seal;
    readonly text: string;
    readonly sealBefore: string;
  } | null = null;

  /** `seal`: the last one, or the hash of the last format-1 line. */
  constructor(private seal: string) {}

  add(text: string, line: SkimmedLine): void {
    if (line.kind === 'seal') {
      this.lastSealed = { lines: this.lines, seal: line.seal, text, sealBefore: this.seal };
      this.seal = line.seal.seal;
      this.lines = [];
    } else if (line.kind === 'v1') this.seal = line.links.hash;
    else this.lines.push(text);
  }

  isSealed(): boolean {
    if (this.lastSealed === null) return true;
    const { lines, seal, text, sealBefore } = this.lastSealed;
    const input = new SealInput();
    input.begin(sealBefore);
    for (const line of lines.slice(-seal.lines)) input.addLine(Buffer.from(line));
    return input.digest(sealedText(Buffer.from(text))) === seal.seal;
  }
}

/**
 * Reads the lines of a file. Returns its size; null if a line, or the place to continue from, does not fit the log, or if the
 * file ends within a line or a block.
 */
async function readFileUnverified(
  file: DiskFile,
  firstPosition: number,
  log: UnverifiedLog,
): Promise<number | null> {
  let end = 0;
  if (log.from?.segment.first_position === firstPosition) {
    if (!(await isInFile(file, log.from))) return null;
    end = log.from.segment.bytes;
    log.isFromFound = true;
  }
  /** The beginning of a line that continues in the next chunk. */
  let partialLine: Uint8Array = new Uint8Array();
  for await (const bytes of chunksOf(file, end)) {
    end += bytes.length;
    const wholeLength = bytes.lastIndexOf(NEWLINE) + 1;
    if (
      wholeLength > 0 &&
      !addLines(log, decodeText(Buffer.concat([partialLine, bytes.subarray(0, wholeLength)])))
    )
      return null;
    partialLine = wholeLength > 0 ? bytes.subarray(wholeLength) : Buffer.concat([partialLine, bytes]);
  }
  return partialLine.length === 0 && !log.check.isWithinBlock ? end : null;
}

/** Whether the file has the seal of the place just before the place. The seal covers all before it, so it is the same log. */
async function isInFile(file: DiskFile, { seal, segment: { bytes } }: LogPoint): Promise<boolean> {
  const length = Math.min(bytes, SEAL_BYTES_MAX);
  const before = await readFully(file, bytes - length, length);
  return before.length === length && before.at(-1) === NEWLINE && sealAtEnd(before) === seal;
}

/** The chunks of a file. The next chunk is read while the caller processes the current one. */
async function* chunksOf(file: DiskFile, from: number): AsyncGenerator<Buffer> {
  const size = await file.size();
  const read = (at: number): Promise<Buffer> => readFully(file, at, Math.min(CHUNK_BYTES, size - at));
  let next = read(from);
  try {
    for (let at = from; at < size; ) {
      const bytes = await next;
      if (bytes.length === 0) return;
      at += bytes.length;
      next = read(at);
      yield bytes;
    }
  } finally {
    // A caller that stops early closes the file, which must not happen during a read.
    await next.catch(() => {});
  }
}

function addLines(log: UnverifiedLog, text: string): boolean {
  const lines = text.split('\n');
  // The part after the last newline is empty.
  lines.pop();
  const skimmed = lines.map(skimLine);
  const events = parseTogether(skimmed.flatMap((line) => line?.event_json ?? []));
  if (events === null) return false;
  let eventCount = 0;
  return skimmed.every((line, at) => {
    if (line === null) return false;
    log.lastBlock.add(lines[at] as string, line);
    if (line.event_json === null) return addLine(log.check, line, null);
    eventCount += 1;
    return addLine(log.check, line, events[eventCount - 1] as ParsedEvent);
  });
}

/** A parsed event, with the fields that only other tools of the family read. */
type ParsedEvent = EventEnvelope & {
  readonly project?: unknown;
  readonly feature?: unknown;
  readonly iteration?: unknown;
  readonly delta?: unknown;
};

function addLine(check: LogCheck<null>, skimmed: SkimmedLine, parsed: ParsedEvent | null): boolean {
  if (skimmed.kind === 'seal') return check.addSeal(skimmed.seal, null, null) === null;
  if (skimmed.kind === 'foreign') return check.addForeign(NO_BYTES, null) === null;
  if (parsed !== null && !isObject(parsed.payload)) return false;
  const event = parsed === null || parsed.event_id === undefined ? null : envelopeOf(parsed);
  const line = { event, isRedacted: false, log: skimmed.log };
  if (skimmed.kind === 'v1') return check.addV1({ ...line, ...skimmed.links }, null) === null;
  return check.addTransactionLine(line, null) === null;
}

const NO_BYTES = Buffer.alloc(0);

function envelopeOf(parsed: ParsedEvent): EventEnvelope {
  if (parsed.project === undefined) return parsed;
  const { project: _, feature: __, iteration: ___, delta: ____, ...event } = parsed;
  return event;
}

/**
 * Parses the texts in one call, which takes less time for texts of one shape than many calls. They are joined with newlines,
 * which JSON allows between values, so that no text extends into the next. Null: a text is not exactly one value.
 */
function parseTogether(texts: readonly string[]): ParsedEvent[] | null {
  try {
    const events: ParsedEvent[] = JSON.parse(`[${texts.join(',\n')}]`);
    return events.length === texts.length ? events : null;
  } catch {
    return null;
  }
}
