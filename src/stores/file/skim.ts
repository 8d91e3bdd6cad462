import type { EventEnvelope } from '../../core/events/envelope.js';
import type { ProjectKey } from '../store.js';
import { placeInUnit } from './chain.js';
import { type Disk, type DiskFile, readFully } from './disk.js';
import { readDurableMark } from './durable-mark.js';
import { ACTIVE_FILE, positionOfSegment, SEGMENTS_FOLDER, segmentName } from './layout.js';
import { CHAIN_START, HASH_LENGTH, HEADER, NO_HASH, PAYLOAD } from './line.js';

const CHUNK_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;
const HEADER_TEXT = HEADER.toString('latin1');
const LOG = ',"log":{"prev":"';
const UNIT = '","unit":"';

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
  see: (event: EventEnvelope) => void,
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

/** Whole lines are made into text together: of each by itself that takes as long as reading it. */
async function skimFile(file: DiskFile, skim: Skim): Promise<boolean> {
  const size = await file.size();
  let length = CHUNK_BYTES;
  for (let at = 0; at < size; ) {
    const bytes = await readFully(file, at, Math.min(length, size - at));
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    if (end === 0) {
      if (at + bytes.length >= size) return false;
      length *= 2;
      continue;
    }
    if (!skim.takeLines(bytes.toString('utf8', 0, end))) return false;
    at += end;
    length = CHUNK_BYTES;
  }
  return skim.isWhole;
}

class Skim {
  /** Of the last event of a whole unit. */
  position = 0;
  private key: ProjectKey | null = null;
  private hash = NO_HASH;
  /** How many lines there are of the unit that is not whole yet, and their events. */
  private parts = 0;
  private unit: EventEnvelope[] = [];

  constructor(private readonly see: (event: EventEnvelope) => void) {}

  get isWhole(): boolean {
    return this.parts === 0;
  }

  takeLines(text: string): boolean {
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      if (!this.takeLine(text, start, end)) return false;
      start = end + 1;
    }
    return true;
  }

  /** What the log notes beside the event is compared where it stands, and cut out: it is a third of most lines. */
  private takeLine(text: string, start: number, end: number): boolean {
    const cut = text.indexOf(LOG, start + CHAIN_START - 1);
    const payload = cut === -1 ? -1 : text.indexOf(PAYLOAD, cut);
    if (payload === -1 || payload > end || !text.startsWith(HEADER_TEXT, start)) return false;
    const prev = cut + LOG.length;
    const unit = prev + HASH_LENGTH + UNIT.length;
    if (!text.startsWith(this.hash, prev) || !text.startsWith(UNIT, prev + HASH_LENGTH)) return false;
    const { part, parts } = placeInUnit(text.slice(unit, text.indexOf('"', unit)));
    if (part !== this.parts + 1) return false;
    // A unit that left no event is one line without an envelope.
    if (cut >= start + CHAIN_START) {
      const event = parsed(`{${text.slice(start + CHAIN_START, cut)}${text.slice(payload, end)}`);
      if (event === null || !this.fits(event)) return false;
      this.unit.push(event);
    }
    const own = start + HEADER.length;
    this.hash = text.slice(own, own + HASH_LENGTH);
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

function parsed(text: string): EventEnvelope | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
