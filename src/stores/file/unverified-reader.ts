import { isAscii } from 'node:buffer';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { ProjectKey } from '../store.js';
import { transactionPart } from './chain.js';
import { type Disk, type DiskFile, readFully } from './disk.js';
import { readDurableMark } from './durable-mark.js';
import { ACTIVE_FILE, positionOfSegment, SEGMENTS_FOLDER, segmentName } from './layout.js';
import { CHAIN_START, HASH_LENGTH, LINE_PREFIX, NO_HASH, PAYLOAD } from './line.js';

/** Small enough for what is made of it to be garbage, and cheap to collect, before the next is read. */
const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

/**
 * Reads a log for a look from which nothing is decided. Every line must name the line before it, the project, the next
 * position and its place in its unit, and the log must reach as far as it was known durable: what is torn, missing or
 * out of order is noticed. What a line says is taken at its word, for the digests are not worked out; that is for
 * recovery and for `gen verify`.
 *
 * False: something does not fit, or a writer was just at it. What was seen is then worth nothing.
 */
export async function readLogUnverified(
  disk: Disk,
  folder: string,
  onEvent: (event: EventEnvelope) => void,
): Promise<boolean> {
  const mark = await readDurableMark(disk, folder);
  const reader = new UnverifiedReader(onEvent);
  // Opened before the sealed ones are listed: if it is sealed meanwhile, its first position comes twice, and does not fit.
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
  /** The beginning of a line whose end is still to come. */
  let partialLine: Uint8Array = new Uint8Array();
  for await (const bytes of chunksOf(file)) {
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    if (end > 0 && !reader.addLines(textOf(Buffer.concat([partialLine, bytes.subarray(0, end)]))))
      return false;
    partialLine = end > 0 ? bytes.subarray(end) : Buffer.concat([partialLine, bytes]);
  }
  return partialLine.length === 0 && reader.isWhole;
}

/** The disk reads the next chunk while this one is looked at. */
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
    // Whoever has seen enough closes the file, and may do so only when nobody reads it.
    await next.catch(() => {});
  }
}

/** Most text is ASCII, and to look whether it is takes a fraction of what reading it as UTF-8 does. */
const textOf = (bytes: Buffer): string => bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8');

class UnverifiedReader {
  /** Of the last event of a whole unit. */
  position = 0;
  private key: ProjectKey | null = null;
  private hash = NO_HASH;
  /** How many lines there are of the unit that is not whole yet, and their events. */
  private parts = 0;
  private transactionEvents: EventEnvelope[] = [];

  constructor(private readonly onEvent: (event: EventEnvelope) => void) {}

  get isWhole(): boolean {
    return this.parts === 0;
  }

  addLines(text: string): boolean {
    const lines = text.split('\n');
    // What follows the last newline is nothing.
    lines.pop();
    const links: LineLink[] = [];
    const events = parseTogether(lines.map((line) => eventJsonOf(line, links)));
    return events?.every((event, at) => this.addLine(event, links[at]!)) === true;
  }

  private addLine(event: EventEnvelope, { hash, prev, unit }: LineLink): boolean {
    if (prev !== this.hash) return false;
    const { part, parts } = transactionPart(unit);
    if (part !== this.parts + 1) return false;
    // A unit that left no event is one line without an envelope.
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

/** Where a line stands in the log. */
interface LineLink {
  readonly hash: string;
  readonly prev: string;
  readonly unit: string;
}

const HEADER_TEXT = LINE_PREFIX.toString();
const LOG = '"log":{"prev":"';
const UNIT = '","unit":"';

/**
 * The event of a line as JSON; its place goes to `places`. What the log notes of a line is half of its text, and reading it
 * half of the work. Empty, which is no JSON: the line is none of this log.
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
 * Texts of one shape are parsed together in less time than each by itself. A newline stays between them, where JSON
 * allows it, so that nothing reaches from one into the next. Null: they are not one value each.
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
