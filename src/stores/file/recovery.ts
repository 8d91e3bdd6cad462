import type { TenantPermits } from '../permits.js';
import { LogDamaged, type ProjectKey } from '../store.js';
import { type Disk, type DiskFile, withFile } from './disk.js';
import { addProvenDurable, type DurableProgress, readDurableMark } from './durable-mark.js';
import { FOREIGN_EXCESS } from './foreign-lines.js';
import {
  ACTIVE_FILE,
  closedSegmentPositions,
  SEGMENTS_FOLDER,
  SNAPSHOTS_FOLDER,
  segmentPath,
} from './layout.js';
import { lineNumberAt, linesIn } from './line-reader.js';
import type { LineFault } from './log-check.js';
import { displayPath, LogFiles, type Segment } from './log-files.js';
import type { OpenFiles } from './open-files.js';
import { UNRECORDED_REDACTION } from './redacted-lines.js';
import { RedactionIndex } from './redaction-index.js';
import { emptyState, type LineSpan, LogReplay, type LogState } from './replay.js';
import { replayFile } from './replay-file.js';
import { loadSnapshot, type SnapshotPoint, snapshotNames } from './snapshot.js';
import { messageOf } from './strict-disk.js';
import { readTail, saveTornTail, splitTail, truncateKeepingForeignLines } from './torn-tail.js';

export interface RecoveryContext {
  readonly disk: Disk;
  /** The store's root: callers see file names relative to it. */
  readonly root: string;
  readonly folder: string;
  readonly key: ProjectKey;
  readonly permits: TenantPermits;
  readonly now_ms: number;
  readonly open_files: OpenFiles;
  readonly warn: (sentence: string) => void;
  /** Our own unfinished lines were cut off already: what is left at the end belongs to another program, and stays. */
  readonly has_cut_tail?: boolean;
}

export interface RecoveredLog {
  readonly state: LogState;
  readonly files: LogFiles;
  readonly redactions: RedactionIndex;
  /** The position of the newest whole snapshot; 0: none. */
  readonly snapshot_position: number;
}

/** Recovers a project's log from the newest whole snapshot and every line after it. A project without a log is empty. */
export async function recoverLog(context: RecoveryContext): Promise<RecoveredLog> {
  context.permits.drop(context.key.project_id);
  const { state, point } = await loadStartingPoint(context);
  const closedPositions = await closedSegmentPositions(context.disk, context.folder);
  // A crash may have come between a segment's move and the sync of its new name. The new name must be durable before
  // anything makes the removal of the old one durable.
  if (closedPositions.length > 0) await context.disk.syncFolder(`${context.folder}/${SEGMENTS_FOLDER}`);
  const segments = await snapshotSegments(context, point, closedPositions);
  const resumed = segments[segments.length - 1];
  const replay = new LogReplay(
    state,
    context.now_ms,
    resumed === undefined ? 0 : resumed.start + resumed.bytes,
  );
  for (const firstPosition of closedPositions) {
    if (resumed !== undefined && firstPosition < resumed.first_position) continue;
    await readClosedSegment(context, replay, segments, firstPosition);
  }
  await readActive(context, replay, segments, closedPositions, point);
  const files = new LogFiles(context.disk, context.root, context.folder, context.open_files, segments);
  const [unrecorded] = replay.check.unrecordedRedactions();
  if (unrecorded !== undefined)
    throw await files.damageAt(context.key, unrecorded.offset, UNRECORDED_REDACTION);
  if (files.last.bytes > 0) await files.useActive((file) => file.sync());
  return { state, files, redactions: new RedactionIndex(), snapshot_position: point?.position ?? 0 };
}

async function loadStartingPoint(
  context: RecoveryContext,
): Promise<{ state: LogState; point: SnapshotPoint | null }> {
  for (const name of await snapshotNames(context.disk, context.folder)) {
    const folder = `${context.folder}/${SNAPSHOTS_FOLDER}/${name}`;
    try {
      return await loadSnapshot(context.disk, folder, context.key, context.permits);
    } catch (error) {
      context.warn(
        `The snapshot ${folder} is not used (${messageOf(error)}); an older one or the whole log is read instead.`,
      );
    }
  }
  return { state: emptyState(context.key, context.permits), point: null };
}

/** The files up to the snapshot's position. Those before the last must exist with an unchanged length. */
async function snapshotSegments(
  context: RecoveryContext,
  point: SnapshotPoint | null,
  closedPositions: readonly number[],
): Promise<Segment[]> {
  const segments: Segment[] = [];
  let start = 0;
  for (const { first_position, bytes } of point?.segments ?? []) {
    segments.push({ first_position, start, bytes });
    start += bytes;
  }
  for (const { first_position, bytes } of segments.slice(0, -1)) {
    const path = segmentPath(context.folder, first_position);
    if (!closedPositions.includes(first_position)) throw damageIn(context, path, 1, MISSING);
    const size = await readExisting(context, path, (file) => file.size());
    if (size !== bytes) throw damageIn(context, path, 1, `the segment has ${size} bytes instead of ${bytes}`);
  }
  return segments;
}

/** Reads a closed segment. It was durable as a whole before it was closed, so any defect in it is damage. */
async function readClosedSegment(
  context: RecoveryContext,
  replay: LogReplay,
  segments: Segment[],
  firstPosition: number,
): Promise<void> {
  const path = segmentPath(context.folder, firstPosition);
  const segment = nextSegment(replay, segments, firstPosition);
  if (segment === null) {
    const { undecidedFault } = replay.check;
    if (undecidedFault !== null) throw await damageOf(context, segments, undecidedFault);
    const expected = replay.state.ledger.position + 1;
    throw damageIn(context, path, 1, `position ${expected} is not in any file: a closed segment is missing`);
  }
  await readExisting(context, path, async (file) => {
    const { end, damage } = await replayFile(replay, segment, file);
    if (damage !== null) throw await damageOf(context, segments, damage);
    const size = await file.size();
    if (end !== size || replay.check.isWithinBlock) {
      const at = { offset: replay.committedEnd, end: replay.committedEnd };
      const why = 'the segment ends within a block';
      throw await damageOf(context, segments, { first: at, last: at, why });
    }
    segment.bytes = size;
  });
}

/** The segment that begins at a position: the one that contains the snapshot's end, or the next; null if there is a gap. */
function nextSegment(replay: LogReplay, segments: Segment[], first_position: number): Segment | null {
  const last = segments[segments.length - 1];
  if (last?.first_position === first_position) return last;
  if (first_position !== replay.state.ledger.position + 1) return null;
  const segment = { first_position, start: replay.committedEnd, bytes: 0 };
  segments.push(segment);
  return segment;
}

async function readActive(
  context: RecoveryContext,
  replay: LogReplay,
  segments: Segment[],
  closedPositions: readonly number[],
  point: SnapshotPoint | null,
): Promise<void> {
  const last = segments[segments.length - 1];
  const isActive = last !== undefined && !closedPositions.includes(last.first_position);
  const segment = isActive ? last : nextSegment(replay, segments, replay.state.ledger.position + 1);
  if (segment === null) throw new Error('A log always has an active segment.');
  const path = `${context.folder}/${ACTIVE_FILE}`;
  const mark = await readDurableMark(context.disk, context.folder);
  const durable: DurableProgress = {
    position: Math.max(mark?.position ?? 0, point?.position ?? 0),
    bytes: Math.max(segment.bytes, mark?.first_position === segment.first_position ? mark.bytes : 0),
  };
  const isRead = await withFile(context.disk, path, async (file) => {
    await readActiveFile(context, replay, segments, { file, path }, durable);
    return true;
  });
  if (isRead === null && (durable.position > replay.state.ledger.position || durable.bytes > 0))
    throw damageIn(context, path, 1, MISSING);
}

async function readActiveFile(
  context: RecoveryContext,
  replay: LogReplay,
  segments: readonly Segment[],
  { file, path }: { file: DiskFile; path: string },
  durable: DurableProgress,
): Promise<void> {
  const segment = segments[segments.length - 1] as Segment;
  const { end, damage } = await replayFile(replay, segment, file);
  const fault = damage ?? replay.check.undecidedFault;
  const size = await file.size();
  const wholeBytes = Math.max(0, Math.min(replay.committedEnd - segment.start, size));
  if (damage?.isTooLargeToCheck) throw await damageOf(context, segments, damage);
  if (size - wholeBytes > TAIL_BYTES_MAX) {
    const at = { offset: segment.start + end, end: segment.start + end };
    throw await damageOf(context, segments, fault ?? { first: at, last: at, why: FOREIGN_EXCESS });
  }
  const { position } = replay.state.ledger;
  if (fault !== null) {
    // If no line of this project was read, the log may be another project's, put here by mistake: then its seals count.
    const key = position === 0 ? null : context.key;
    await addProvenDurable(durable, file, wholeBytes, key, position);
  }
  if (wholeBytes < durable.bytes || position < durable.position) {
    const why = end < size ? 'the line is cut off' : 'the log ends here, and later lines are missing';
    const at = { offset: segment.start + wholeBytes, end: segment.start + wholeBytes };
    throw await damageOf(context, segments, fault ?? { first: at, last: at, why });
  }
  if (fault !== null && fault.first.offset < segment.start) throw await damageOf(context, segments, fault);
  segment.bytes = wholeBytes;
  if (wholeBytes === size) return;
  const excess = context.has_cut_tail
    ? replay.addLeftOver(linesIn(await readTail(file, wholeBytes)))
    : await cutTornTail(context, path, replay, segment);
  segment.bytes = replay.committedEnd - segment.start;
  if (excess !== null) throw await damageOf(context, segments, excess);
}

/**
 * Cuts off what a crash left half written, and keeps a copy. No caller had a confirmation for what is cut off. Returns a
 * fault if the end of the log contains too many foreign lines.
 */
async function cutTornTail(
  context: RecoveryContext,
  path: string,
  replay: LogReplay,
  segment: Segment,
): Promise<LineFault<LineSpan> | null> {
  const { position } = replay.state.ledger;
  const log = await context.disk.openAppend(path);
  try {
    const tail = await readTail(log, segment.bytes);
    const { foreign, isAllForeign } = splitTail(tail, context.key, position);
    const excess = replay.addLeftOver(foreign);
    if (isAllForeign || excess !== null) return excess;
    const tornPath = await saveTornTail(context.disk, context.folder, position, tail);
    await truncateKeepingForeignLines(log, segment.bytes, foreign);
    context.warn(
      `${path} ended in ${tail.length} bytes that a crash left unfinished after position ${position}. ` +
        `They were never acknowledged. A copy is in ${tornPath}; the log continues after that position.` +
        (foreign.length === 0 ? '' : ` It keeps ${foreign.length} lines of other programs among them.`),
    );
    return null;
  } finally {
    await log.close();
  }
}

/** Maximum size of the unfinished end of a log, which is read into memory as a whole. */
const TAIL_BYTES_MAX = 256 * 1024 * 1024;

const MISSING = 'the file is missing';

/** The damage to lines that are given by their offsets in the whole log. */
async function damageOf(
  context: RecoveryContext,
  segments: readonly Segment[],
  { first, last, why }: LineFault<LineSpan>,
): Promise<LogDamaged> {
  const segment = segments.findLast(({ start }) => start <= first.offset) as Segment;
  const closedPath = segmentPath(context.folder, segment.first_position);
  const isClosed = (await closedSegmentPositions(context.disk, context.folder)).includes(
    segment.first_position,
  );
  const path = isClosed ? closedPath : `${context.folder}/${ACTIVE_FILE}`;
  return readExisting(context, path, async (file) => {
    const line = await lineNumberAt(file, first.offset - segment.start);
    const isSingleLine = first.offset === last.offset;
    const lastLine = isSingleLine ? line : await lineNumberAt(file, last.offset - segment.start);
    return damageIn(context, path, line, why, lastLine);
  });
}

const damageIn = (
  { root, key }: RecoveryContext,
  path: string,
  line: number,
  why: string,
  last_line = line,
): LogDamaged => new LogDamaged({ ...key, file: displayPath(root, path), line, last_line, why });

async function readExisting<T>(
  context: RecoveryContext,
  path: string,
  action: (file: DiskFile) => Promise<T>,
): Promise<T> {
  const result = await withFile(context.disk, path, action);
  if (result === null) throw damageIn(context, path, 1, MISSING);
  return result;
}
