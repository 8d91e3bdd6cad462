import { isAscii } from 'node:buffer';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { ProjectKey } from '../store.js';
import { placeInUnit } from './chain.js';
import { type Disk, type DiskFile, readFully } from './disk.js';
import { readDurableMark } from './durable-mark.js';
import { ACTIVE_FILE, positionOfSegment, SEGMENTS_FOLDER, segmentName } from './layout.js';
import { type LineLog, NO_HASH } from './line.js';

/** Small enough for what is made of it to be garbage, and cheap to collect, before the next is read. */
const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

/** An event as its line has it, with what the log notes beside it. */
export interface LoggedEvent extends EventEnvelope {
  readonly hash: string;
  readonly log: LineLog;
}

/** The event alone, as a store gives it. */
export function eventAlone(event: EventEnvelope): EventEnvelope {
  const { hash: _, log: __, ...alone } = event as LoggedEvent;
  return alone;
}

/**
 * Reads a log for a look from which nothing is decided. Every line must name the line before it, the project, the next
 * position and its place in its unit, and the log must reach as far as it was known durable: what is torn, missing or
 * out of order is noticed. What a line says is taken at its word, for the digests are not worked out; that is for
 * recovery and for `gen verify`.
 *
 * False: something does not fit, or a writer was just at it. What was seen is then worth nothing.
 */
export async function skimLog(
  disk: Disk,
  folder: string,
  see: (event: LoggedEvent) => void,
): Promise<boolean> {
  const mark = await readDurableMark(disk, folder);
  const skim = new Skim(see);
  // Opened before the sealed ones are listed: if it is sealed meanwhile, its first position comes twice, and does not fit.
  const active = await disk.openRead(`${folder}/${ACTIVE_FILE}`);
  try {
    for (const first_position of await sealedPositions(disk, folder)) {
      const path = `${folder}/${SEGMENTS_FOLDER}/${segmentName(first_position)}`;
      const sealed = await disk.openRead(path);
      const fits = sealed !== null && (await skimFile(sealed, skim).finally(() => sealed.close()));
      if (!fits) return false;
    }
    if (active !== null && !(await skimFile(active, skim))) return false;
  } finally {
    await active?.close();
  }
  return skim.position >= (mark?.position ?? 0);
}

async function sealedPositions(disk: Disk, folder: string): Promise<number[]> {
  const names = await disk.list(`${folder}/${SEGMENTS_FOLDER}`);
  const positions = names.map(positionOfSegment).filter((position) => position !== null);
  return positions.sort((a, b) => a - b);
}

async function skimFile(file: DiskFile, skim: Skim): Promise<boolean> {
  /** The beginning of a line whose end is still to come. */
  let begun: Uint8Array = new Uint8Array();
  for await (const bytes of chunksOf(file)) {
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    if (end > 0 && !skim.takeLines(textOf(Buffer.concat([begun, bytes.subarray(0, end)])))) return false;
    begun = end > 0 ? bytes.subarray(end) : Buffer.concat([begun, bytes]);
  }
  return begun.length === 0 && skim.isWhole;
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

class Skim {
  /** Of the last event of a whole unit. */
  position = 0;
  private key: ProjectKey | null = null;
  private hash = NO_HASH;
  /** How many lines there are of the unit that is not whole yet, and their events. */
  private parts = 0;
  private unit: LoggedEvent[] = [];

  constructor(private readonly see: (event: LoggedEvent) => void) {}

  get isWhole(): boolean {
    return this.parts === 0;
  }

  takeLines(text: string): boolean {
    return parsed(text)?.every((line) => this.takeLine(line)) === true;
  }

  private takeLine(line: LoggedEvent): boolean {
    if (!isObject(line)) return false;
    const { hash, log } = line;
    if (typeof hash !== 'string' || log?.prev !== this.hash || typeof log.unit !== 'string') return false;
    const { part, parts } = placeInUnit(log.unit);
    if (part !== this.parts + 1) return false;
    // A unit that left no event is one line without an envelope.
    if (line.event_id !== undefined) {
      if (!this.fits(line)) return false;
      this.unit.push(line);
    }
    this.hash = hash;
    this.parts = part === parts ? 0 : part;
    if (part === parts) this.seeUnit();
    return true;
  }

  private fits({ tenant_id, project_id, position, payload }: EventEnvelope): boolean {
    this.key ??= { tenant_id, project_id };
    const isOurs = tenant_id === this.key.tenant_id && project_id === this.key.project_id;
    return isOurs && position === this.position + this.unit.length + 1 && isObject(payload);
  }

  private seeUnit(): void {
    for (const event of this.unit) {
      this.position = event.position;
      this.see(event);
    }
    this.unit.length = 0;
  }
}

/**
 * Lines of one shape are parsed together in less time than each by itself. The newlines stay between them, where JSON
 * allows them, so that no text reaches from one line into the next. Null: they are not one value each.
 */
function parsed(text: string): LoggedEvent[] | null {
  const lines = text.split('\n');
  // What follows the last newline is nothing.
  lines.pop();
  try {
    const events: LoggedEvent[] = JSON.parse(`[${lines.join(',\n')}]`);
    return events.length === lines.length ? events : null;
  } catch {
    return null;
  }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
