import { isAscii } from 'node:buffer';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { ProjectKey } from '../store.js';
import { transactionPart } from './chain.js';
import { type Disk, type DiskFile, readFully } from './disk.js';
import { readDurableMark } from './durable-mark.js';
import { ACTIVE_FILE, positionOfSegment, SEGMENTS_FOLDER, segmentName } from './layout.js';
import { CHAIN_START, HASH_LENGTH, LINE_PREFIX, NO_HASH, PAYLOAD } from './line.js';

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
  const reader = new UnverifiedReader(onEvent);
  // Opened before the sealed files are listed: if it is sealed meanwhile, its first position comes twice, and does not
  // match.
  const active = await disk.openRead(`${folder}/${ACTIVE_FILE}`);
  try {
    for (const firstPosition of await sealedPositions(disk, folder)) {
      const path = `${folder}/${SEGMENTS_FOLDER}/${segmentName(firstPosition)}`;
      const sealed = await disk.openRead(path);
      const isValid =
        sealed !== null && (await readFileUnverified(sealed, reader).finally(() => sealed.close()));
      if (!isValid) return false;
    }
    if (active !== null && !(await readFileUnverified(active, reader))) return false;
  } finally {
    await active?.close();
  }
  return reader.position >= (mark?.position ?? 0);
}

async function sealedPositions(disk: Disk, folder: string): Promise<number[]> {
  const names = await disk.list(`${folder}/${SEGMENTS_FOLDER}`);
  const positions = names.map(positionOfSegment).filter((position) => position !== null);
  return positions.sort((a, b) => a - b);
}

async function readFileUnverified(file: DiskFile, reader: UnverifiedReader): Promise<boolean> {
  /** The beginning of a line that continues in the next chunk. */
  let partialLine: Uint8Array = new Uint8Array();
  for await (const bytes of chunksOf(file)) {
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    if (end > 0 && !reader.addLines(textOf(Buffer.concat([partialLine, bytes.subarray(0, end)]))))
      return false;
    partialLine = end > 0 ? bytes.subarray(end) : Buffer.concat([partialLine, bytes]);
  }
  return partialLine.length === 0 && reader.isWhole;
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

class UnverifiedReader {
  /** Of the last event of a complete transaction. */
  position = 0;
  private key: ProjectKey | null = null;
  private hash = NO_HASH;
  /** The number of lines of the incomplete transaction, and their events. */
  private parts = 0;
  private transactionEvents: EventEnvelope[] = [];

  constructor(private readonly onEvent: (event: EventEnvelope) => void) {}

  get isWhole(): boolean {
    return this.parts === 0;
  }

  addLines(text: string): boolean {
    const lines = text.split('\n');
    // The part after the last newline is empty.
    lines.pop();
    const links: LineLink[] = [];
    const events = parseTogether(lines.map((line) => eventJsonOf(line, links)));
    return events?.every((event, at) => this.addLine(event, links[at]!)) === true;
  }

  private addLine(event: EventEnvelope, { hash, prev, unit }: LineLink): boolean {
    if (prev !== this.hash) return false;
    const { part, parts } = transactionPart(unit);
    if (part !== this.parts + 1) return false;
    // A transaction without events is one line without an envelope.
    if (event.event_id !== undefined) {
      if (!this.fits(event)) return false;
      this.transactionEvents.push(event);
    }
    this.hash = hash;
    this.parts = part === parts ? 0 : part;
    if (part === parts) this.finishTransaction();
    return true;
  }

  private fits({ tenant_id, project_id, position, payload }: EventEnvelope): boolean {
    this.key ??= { tenant_id, project_id };
    const isSameProject = tenant_id === this.key.tenant_id && project_id === this.key.project_id;
    return (
      isSameProject && position === this.position + this.transactionEvents.length + 1 && isObject(payload)
    );
  }

  private finishTransaction(): void {
    for (const event of this.transactionEvents) {
      this.position = event.position;
      this.onEvent(event);
    }
    this.transactionEvents.length = 0;
  }
}

/** The links of a line to its neighbours in the log. */
interface LineLink {
  readonly hash: string;
  readonly prev: string;
  readonly unit: string;
}

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
    prev: line.slice(prev, unit),
    unit: line.slice(unit + UNIT.length, line.indexOf('"', unit + UNIT.length)),
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
