import type { EventEnvelope } from '../../core/events/envelope.js';
import { ChainCheck, type CheckedLine } from '../../stores/file/chain-check.js';
import type { DiskFile } from '../../stores/file/disk.js';
import { readDurableMark } from '../../stores/file/durable-mark.js';
import { type Known, learn } from '../../stores/file/known.js';
import { ACTIVE_FILE, positionOfSegment, SEGMENTS_FOLDER, segmentName } from '../../stores/file/layout.js';
import { NO_HASH } from '../../stores/file/line.js';
import { visitLines } from '../../stores/file/line-reader.js';
import { nodeDisk } from '../../stores/file/node-disk.js';
import type { LogPlace } from './find-logs.js';

export interface PlacedEvent extends LinePlace {
  readonly event: EventEnvelope;
}

interface LinePlace {
  readonly file: string;
  readonly line: number;
}

/** Where a log cannot be read on, and why. */
export interface Damage extends LinePlace {
  readonly why: string;
}

export interface LogRead {
  readonly files: number;
  readonly lines: number;
  /** Bytes at the end that belong to no whole unit: a crash, or a write under way. Nobody was told of them. */
  readonly unfinished_bytes: number;
  readonly damage: Damage | null;
  /** Lines whose payload was changed, and no event says that retention did it. */
  readonly unexplained: readonly LinePlace[];
}

/** Reads a log as recovery would, line by line from its first, and changes nothing. A writer may be at it meanwhile. */
export async function readLog(place: LogPlace, see: (placed: PlacedEvent) => void): Promise<LogRead> {
  const reader = new LogReader(see);
  if ('file' in place) {
    const file = await nodeDisk.openRead(place.file);
    if (file !== null) await reader.readActive(file, place.file, { position: 0, bytes: 0 });
    return reader.result();
  }
  const { folder } = place;
  const mark = await readDurableMark(nodeDisk, folder);
  for (;;) {
    // The active file is opened before the sealed ones are listed: if it is sealed meanwhile, it is in the list.
    const active = await nodeDisk.openRead(`${folder}/${ACTIVE_FILE}`);
    const sealed = reader.damage === null ? await nextSealed(folder, reader.position) : null;
    if (sealed !== null) {
      await active?.close();
      await reader.readSealed(`${folder}/${SEGMENTS_FOLDER}/${segmentName(sealed)}`, sealed);
      continue;
    }
    const known = { position: mark?.position ?? 0, bytes: 0 };
    if (mark?.first_position === reader.position + 1) known.bytes = mark.bytes;
    if (active !== null) await reader.readActive(active, `${folder}/${ACTIVE_FILE}`, known);
    else reader.missing(`${folder}/${ACTIVE_FILE}`, known);
    return reader.result();
  }
}

/** The sealed file that must come after a position: the first that reaches beyond it. */
async function nextSealed(folder: string, position: number): Promise<number | null> {
  const names = await nodeDisk.list(`${folder}/${SEGMENTS_FOLDER}`);
  const later = names.map(positionOfSegment).filter((first) => first !== null && first > position);
  return later.length === 0 ? null : Math.min(...(later as number[]));
}

class LogReader {
  damage: Damage | null = null;
  /** Of the last event of a whole unit. */
  position = 0;
  private readonly check = new ChainCheck<LinePlace>({ key: null, hash: NO_HASH, position: 0 }, (lines) =>
    this.seeUnit(lines),
  );
  private files = 0;
  private lines = 0;
  private unfinished_bytes = 0;

  constructor(private readonly see: (placed: PlacedEvent) => void) {}

  result(): LogRead {
    const { files, lines, unfinished_bytes, damage } = this;
    return { files, lines, unfinished_bytes, damage, unexplained: this.check.unexplained() };
  }

  missing(file: string, known: Known): void {
    if (this.damage !== null || (known.position <= this.position && known.bytes === 0)) return;
    this.damage = { file, line: 1, why: 'the file is missing' };
  }

  async readSealed(path: string, first_position: number): Promise<void> {
    if (first_position !== this.position + 1) {
      this.damage = { file: path, line: 1, why: `position ${this.position + 1} is in no file` };
      return;
    }
    const file = await nodeDisk.openRead(path);
    if (file === null) throw new Error(`${path} vanished while it was read. Try again.`);
    const { whole, size, line } = await this.readFile(file, path, null);
    if (this.damage === null && (whole < size || this.position < first_position)) {
      this.damage = { file: path, line, why: 'the segment ends here, within a unit' };
    }
  }

  async readActive(file: DiskFile, path: string, known: Known): Promise<void> {
    if (this.damage !== null) return file.close();
    const { whole, size, line } = await this.readFile(file, path, known);
    const is_short = whole < known.bytes || this.position < known.position;
    if (is_short)
      this.damage ??= { file: path, line, why: 'the log ends here, and what followed is missing' };
    else this.damage = null;
    if (this.damage === null) this.unfinished_bytes = size - whole;
  }

  /** Returns where its last whole unit ends. `known` learns what must have been durable from the lines after damage. */
  private async readFile(file: DiskFile, path: string, known: Known | null) {
    this.files += 1;
    let whole = 0;
    let line = 0;
    let whole_line = 0;
    try {
      await visitLines(file, 0, (bytes, offset) => {
        line += 1;
        if (this.damage === null) {
          const why = this.check.take(bytes, { file: path, line });
          if (why !== null) this.damage = { file: path, line, why };
          else if (!this.check.isWithinUnit) {
            whole = offset + bytes.length + 1;
            whole_line = line;
          }
        }
        if (this.damage !== null && known !== null) learn(known, bytes, offset);
      });
      this.lines += whole_line;
      return { whole, size: await file.size(), line: whole_line + 1 };
    } finally {
      await file.close();
    }
  }

  private seeUnit(lines: readonly CheckedLine<LinePlace>[]): void {
    for (const { line, place } of lines) {
      if (line.event === null) continue;
      this.position = line.event.position;
      this.see({ event: line.event, ...place });
    }
  }
}
