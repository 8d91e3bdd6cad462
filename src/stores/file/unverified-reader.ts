import { isAscii } from 'node:buffer';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { ChainCheck } from './chain-check.js';
import { type Disk, type DiskFile, readFully, withFile } from './disk.js';
import { readDurableMark } from './durable-mark.js';
import { ACTIVE_FILE, sealedPositions, segmentPath } from './layout.js';
import { CHAIN_START, type DecodedLine, HASH_LENGTH, LINE_PREFIX, NO_HASH, PAYLOAD } from './line.js';

/** Small enough that the garbage of one chunk is cheap to collect before the next is read. */
const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

/**
 * Reads a log for display only; nothing may be decided on it. Every line must name the line before it, the project, the
 * next position and its part of the transaction, and the log must reach as far as it was known to be durable: torn,
 * missing or reordered lines are detected. The contents are trusted, because no digests are computed; recovery and `gen
 * verify` do that.
 *
 * False: something does not match, or a writer was active. What was read is then worthless.
 */
export async function readLogUnverified(
  disk: Disk,
  folder: string,
  onEvent: (event: EventEnvelope) => void,
): Promise<boolean> {
  const mark = await readDurableMark(disk, folder);
  let position = 0;
  const check: LineCheck = new ChainCheck({ key: null, hash: NO_HASH, position }, (lines) => {
    for (const { line } of lines) {
      if (line.event === null) continue;
      position = line.event.position;
      onEvent(line.event);
    }
  });
  // Opened before the sealed files are listed: if it is sealed meanwhile, its first position comes twice, and does not
  // match.
  const active = await disk.openRead(`${folder}/${ACTIVE_FILE}`);
  try {
    for (const firstPosition of await sealedPositions(disk, folder)) {
      const path = segmentPath(folder, firstPosition);
      if (!(await withFile(disk, path, (sealed) => readFileUnverified(sealed, check)))) return false;
    }
    if (active !== null && !(await readFileUnverified(active, check))) return false;
  } finally {
    await active?.close();
  }
  return position >= (mark?.position ?? 0);
}

type LineCheck = ChainCheck<null>;

async function readFileUnverified(file: DiskFile, check: LineCheck): Promise<boolean> {
  /** The beginning of a line that continues in the next chunk. */
  let partialLine: Uint8Array = new Uint8Array();
  for await (const bytes of chunksOf(file)) {
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    if (end > 0 && !addLines(check, textOf(Buffer.concat([partialLine, bytes.subarray(0, end)]))))
      return false;
    partialLine = end > 0 ? bytes.subarray(end) : Buffer.concat([partialLine, bytes]);
  }
  return partialLine.length === 0 && !check.isWithinTransaction;
}

/** Reads the next chunk while the caller processes this one. */
async function* chunksOf(file: DiskFile): AsyncGenerator<Buffer> {
  const size = await file.size();
  const read = (at: number): Promise<Buffer> => readFully(file, at, Math.min(CHUNK_BYTES, size - at));
  let next = read(0);
  try {
    for (let at = 0; at < size; ) {
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

/** Most text is ASCII, and the check takes a fraction of the time of decoding UTF-8. */
const textOf = (bytes: Buffer): string => bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8');

function addLines(check: LineCheck, text: string): boolean {
  const lines = text.split('\n');
  // The part after the last newline is empty.
  lines.pop();
  const links: LineLink[] = [];
  const events = parseTogether(lines.map((line) => eventJsonOf(line, links)));
  return events?.every((event, at) => addLine(check, event, links[at]!)) === true;
}

function addLine(check: LineCheck, event: EventEnvelope, link: LineLink): boolean {
  // A transaction without events is one line without an envelope.
  if (event.event_id === undefined) return check.addDecoded({ ...link, event: null }, null) === null;
  return isObject(event.payload) && check.addDecoded({ ...link, event }, null) === null;
}

/** The links of a line to its neighbours in the log. */
type LineLink = Omit<DecodedLine, 'event'>;

const HEADER_TEXT = LINE_PREFIX.toString();
const LOG = '"log":{"prev":"';
const UNIT = '","unit":"';

/**
 * The event of a line as JSON; pushes the line's links to `links`. The `log` field is half of the text and half of the
 * parsing work, so it is cut out. Empty, which is not JSON: not a line of this log.
 */
function eventJsonOf(line: string, links: LineLink[]): string {
  const log = line.indexOf(LOG);
  const payload = line.indexOf(PAYLOAD, log);
  const prev = log + LOG.length;
  const unit = prev + HASH_LENGTH;
  if (log < CHAIN_START || payload < 0 || !line.startsWith(HEADER_TEXT) || !line.startsWith(UNIT, unit))
    return '';
  links.push({
    hash: line.slice(HEADER_TEXT.length, HEADER_TEXT.length + HASH_LENGTH),
    isRedacted: false,
    log: {
      prev: line.slice(prev, unit),
      unit: line.slice(unit + UNIT.length, line.indexOf('"', unit + UNIT.length)),
      payload_sha256: '',
    },
  });
  return `{${line.slice(CHAIN_START, log)}${line.slice(payload + 1)}`;
}

/**
 * Parsing texts of one shape together takes less time than one by one. They are joined with newlines, which JSON allows
 * between values, so that none extends into the next. Null: not exactly one value each.
 */
function parseTogether(texts: readonly string[]): EventEnvelope[] | null {
  try {
    const events: EventEnvelope[] = JSON.parse(`[${texts.join(',\n')}]`);
    return events.length === texts.length ? events : null;
  } catch {
    return null;
  }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
