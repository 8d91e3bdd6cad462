import type { EventEnvelope } from '../../core/events/envelope.js';
import type { ReadableFile } from '../../stores/file/disk.js';
import { addProvenDurable, type DurableProgress, readDurableMark } from '../../stores/file/durable-mark.js';
import { ACTIVE_FILE, positionOfSegment, SEGMENTS_FOLDER, segmentName } from '../../stores/file/layout.js';
import { CHAIN_START } from '../../stores/file/line.js';
import { visitLines } from '../../stores/file/line-reader.js';
import { type CheckedLine, type LineFault, LogCheck, type LogEnd } from '../../stores/file/log-check.js';
import { nodeDisk } from '../../stores/file/node-disk.js';
import { overlayFile, readProjectWal } from '../../stores/file/wal/overlay.js';
import type { LogLocation } from './find-logs.js';

interface LogLinePosition {
  readonly file: string;
  readonly line: number;
}

export type LocatedEvent = LogLinePosition & {
  readonly event: EventEnvelope;
  /** The digest of the payload as it was written. */
  readonly payload_sha256: string;
  /** Whether the payload differs from what was written. */
  readonly isRedacted: boolean;
};
/** The position where the log becomes unreadable, and why. */
type LogReadDamage = LogLinePosition & { readonly last_line?: number; readonly why: string };

export interface LogReadResult {
  readonly files: number;
  readonly lines: number;
  /** Lines of other programs, and how many of them no seal covers yet. */
  readonly foreign_lines: number;
  readonly foreign_unsealed: number;
  /** Bytes after the last whole block, from a crash or a write in progress. They were never acknowledged. */
  readonly unfinished_bytes: number;
  /** Where these bytes begin; null if there are none. */
  readonly unfinished: LogLinePosition | null;
  /** The lines of other programs that no seal covers yet. */
  readonly unsealed: readonly LogLinePosition[];
  readonly damage: LogReadDamage | null;
  /** Lines whose payload was changed without an event that records a redaction. */
  readonly unrecordedRedactions: readonly LogLinePosition[];
}

/** Reads a log as recovery does, from its first line, without changing it. A writer may be active meanwhile. */
export async function readLog(
  location: LogLocation,
  onEvent: (placed: LocatedEvent) => void,
): Promise<LogReadResult> {
  const reader = new LogReader(onEvent);
  if ('file' in location) {
    const file = await nodeDisk.openRead(location.file);
    if (file !== null) await reader.readActive(file, location.file, { position: 0, bytes: 0 });
    return reader.result();
  }
  const { folder } = location;
  const mark = await readDurableMark(nodeDisk, folder);
  const wal = await readProjectWal(nodeDisk, folder);
  for (;;) {
    // Open the active file before listing the closed ones: if it is closed in between, it is in the list.
    const active = await nodeDisk.openRead(`${folder}/${ACTIVE_FILE}`);
    const closedSegment = reader.damage === null ? await nextClosedSegment(folder, reader.position) : null;
    if (closedSegment !== null) {
      await active?.close();
      await reader.readClosedSegment(
        `${folder}/${SEGMENTS_FOLDER}/${segmentName(closedSegment)}`,
        closedSegment,
      );
      continue;
    }
    const durableExtent = { position: mark?.position ?? 0, bytes: 0 };
    if (mark?.first_position === reader.position + 1) durableExtent.bytes = mark.bytes;
    // The log as the next start recovers it: a power loss may have left its end in the write-ahead log only.
    const parts = wal.parts.filter(({ segment }) => segment === reader.position + 1);
    for (const { start, bytes } of parts)
      durableExtent.bytes = Math.max(durableExtent.bytes, start + bytes.length);
    const path = `${folder}/${ACTIVE_FILE}`;
    if (active !== null || parts.length > 0)
      await reader.readActive(overlayFile(active, parts), path, durableExtent);
    else reader.reportMissingFile(path, durableExtent);
    if (wal.damage !== null) reader.damage ??= { file: wal.path, ...wal.damage };
    return reader.result();
  }
}

/** The first position of the next closed file after a position; null if there is no such file. */
async function nextClosedSegment(folder: string, position: number): Promise<number | null> {
  const names = await nodeDisk.list(`${folder}/${SEGMENTS_FOLDER}`);
  const later = names.map(positionOfSegment).filter((first) => first !== null && first > position);
  return later.length === 0 ? null : Math.min(...(later as number[]));
}

const damageOf = ({ first, last, why }: LineFault<LogLinePosition>): LogReadDamage => ({
  file: first.file,
  line: first.line,
  last_line: last.line,
  why,
});

class LogReader {
  damage: LogReadDamage | null = null;
  private isTooLargeToCheck = false;
  /** Position of the last event of a whole block. */
  position = 0;
  private readonly end: LogEnd = { key: null, seal: CHAIN_START, position: 0, foreign: [], isFormat1: true };
  private readonly check = new LogCheck<LogLinePosition & { readonly end: number }>(this.end, {
    onTransaction: (lines) => this.visitTransaction(lines),
    onWhole: (last, block) => {
      this.wholeBytes = last.end;
      this.wholeLine = last.line;
      // A line that is whole by itself, and is not a seal, is foreign or in format 1.
      if (block === null && !this.end.isFormat1) {
        this.foreignLines += 1;
        this.unsealed.push({ file: last.file, line: last.line });
      } else this.unsealed.splice(0, this.unsealed.length - this.end.foreign.length);
    },
  });
  private files = 0;
  private lines = 0;
  private foreignLines = 0;
  /** The end of the complete transactions in the current file. */
  private wholeBytes = 0;
  private wholeLine = 0;
  private unfinishedBytes = 0;
  private unfinished: LogLinePosition | null = null;
  private readonly unsealed: LogLinePosition[] = [];

  constructor(private readonly onEvent: (placed: LocatedEvent) => void) {}

  result(): LogReadResult {
    return {
      files: this.files,
      lines: this.lines,
      foreign_lines: this.foreignLines,
      foreign_unsealed: this.end.foreign.length,
      unfinished_bytes: this.unfinishedBytes,
      unfinished: this.unfinished,
      unsealed: this.unsealed,
      damage: this.damage,
      unrecordedRedactions: this.check.unrecordedRedactions(),
    };
  }

  private undecidedDamage(): LogReadDamage | null {
    const { undecidedFault } = this.check;
    return undecidedFault === null ? null : damageOf(undecidedFault);
  }

  reportMissingFile(file: string, durableExtent: DurableProgress): void {
    this.damage ??= this.undecidedDamage();
    if (this.damage !== null || (durableExtent.position <= this.position && durableExtent.bytes === 0))
      return;
    this.damage = { file, line: 1, why: 'the file is missing' };
  }

  async readClosedSegment(path: string, firstPosition: number): Promise<void> {
    if (firstPosition !== this.position + 1) {
      this.damage = this.undecidedDamage() ?? {
        file: path,
        line: 1,
        why: `position ${this.position + 1} is not in any file`,
      };
      return;
    }
    const file = await nodeDisk.openRead(path);
    if (file === null) throw new Error(`${path} was removed while it was being read. Try again.`);
    const { whole, size, line } = await this.readFile(file, path, null);
    // The last lines of the file may be another program's: only a seal in the next file distinguishes them from damage.
    const isUndecided = this.check.undecidedFault !== null;
    if (this.damage === null && ((whole < size && !isUndecided) || this.position < firstPosition)) {
      this.damage = { file: path, line, why: 'the segment ends within a block' };
    }
  }

  async readActive(file: ReadableFile, path: string, durableExtent: DurableProgress): Promise<void> {
    if (this.damage !== null) return file.close();
    const { whole, size, line } = await this.readFile(file, path, durableExtent);
    const isShort = whole < durableExtent.bytes || this.position < durableExtent.position;
    if (isShort) this.damage ??= { file: path, line, why: 'the log ends here, and later lines are missing' };
    else if (!this.isTooLargeToCheck) this.damage = null;
    if (this.damage !== null || size === whole) return;
    this.unfinishedBytes = size - whole;
    this.unfinished = { file: path, line };
  }

  /**
   * Returns where the last whole block ends. Extends `durableExtent` by what the lines after damage prove to have been
   * durable.
   */
  private async readFile(file: ReadableFile, path: string, durableExtent: DurableProgress | null) {
    this.files += 1;
    this.wholeBytes = 0;
    this.wholeLine = 0;
    let line = 0;
    try {
      await visitLines(file, 0, (bytes, offset) => {
        line += 1;
        if (this.damage !== null) return;
        const fault = this.check.addLine(bytes, { file: path, line, end: offset + bytes.length + 1 });
        if (fault === null) return;
        this.damage = damageOf(fault);
        this.isTooLargeToCheck = fault.isTooLargeToCheck === true;
      });
      if (durableExtent !== null) {
        this.damage ??= this.undecidedDamage();
        if (this.damage !== null && !this.isTooLargeToCheck)
          await addProvenDurable(durableExtent, file, this.wholeBytes, this.end.key, this.position);
      }
      this.lines += this.wholeLine;
      return { whole: this.wholeBytes, size: await file.size(), line: this.wholeLine + 1 };
    } finally {
      await file.close();
    }
  }

  private visitTransaction(lines: readonly CheckedLine<LogLinePosition>[]): void {
    for (const { line, location } of lines) {
      if (line.event === null) continue;
      this.position = line.event.position;
      const { event, isRedacted, log } = line;
      const { payload_sha256 = '' } = log;
      this.onEvent({ event, payload_sha256, isRedacted, file: location.file, line: location.line });
    }
  }
}
