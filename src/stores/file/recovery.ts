import type { TenantSlots } from '../slots.js';
import { type FoldHead, LogDamaged, type ProjectKey } from '../store.js';
import { type Disk, type DiskFile, readFully, writeFully } from './disk.js';
import { readDurableMark } from './durable-mark.js';
import { type Known, learn } from './known.js';
import { ACTIVE_FILE, positionOfSegment, SEGMENTS_FOLDER, SNAPSHOTS_FOLDER, segmentName } from './layout.js';
import { lineNumberAt, visitLines } from './line-reader.js';
import { damageAt } from './log-damage.js';
import { LogFiles, type Segment, shownPath } from './log-files.js';
import { UNEXPLAINED } from './redacted-lines.js';
import { Redactions } from './redactions.js';
import { emptyState, type LogState, Replay } from './replay.js';
import { loadSnapshot, type SnapshotPlace, snapshotNames } from './snapshot.js';
import { messageOf } from './strict-disk.js';

export interface RecoveryContext {
  readonly disk: Disk;
  /** The store's: files are named relative to it where a caller may see the name. */
  readonly root: string;
  readonly folder: string;
  readonly key: ProjectKey;
  readonly slots: TenantSlots;
  readonly fold: FoldHead;
  readonly now_ms: number;
  readonly warn: (sentence: string) => void;
}

export interface RecoveredLog {
  readonly state: LogState;
  readonly files: LogFiles;
  readonly redactions: Redactions;
  /** The newest whole snapshot; 0: there is none. */
  readonly snapshot_position: number;
}

/** Reads a project's log back: the newest whole snapshot, and every line after it. A project without a log is empty. */
export async function recoverLog(ctx: RecoveryContext): Promise<RecoveredLog> {
  ctx.slots.drop(ctx.key.project_id);
  const { state, place } = await startingPoint(ctx);
  const sealed = await sealedPositions(ctx);
  // A crash may have come between a segment's move and the sync of its new name. The new name must be durable before
  // anything makes the loss of the old one so.
  if (sealed.length > 0) await ctx.disk.syncFolder(`${ctx.folder}/${SEGMENTS_FOLDER}`);
  const segments = await knownSegments(ctx, place, sealed);
  const from = segments[segments.length - 1];
  const replay = new Replay(state, ctx.fold, ctx.now_ms, from === undefined ? 0 : from.start + from.bytes);
  for (const first_position of sealed) {
    if (from !== undefined && first_position < from.first_position) continue;
    await readSealed(ctx, replay, segments, first_position);
  }
  await readActive(ctx, replay, segments, place);
  const files = new LogFiles(ctx.disk, ctx.root, ctx.folder, segments);
  const unexplained = replay.unexplained;
  if (unexplained !== null) throw await damageAt(files, ctx.key, unexplained, UNEXPLAINED);
  if (files.last.bytes > 0) await (await files.openActive()).sync();
  return { state, files, redactions: new Redactions(), snapshot_position: place?.position ?? 0 };
}

async function startingPoint(
  ctx: RecoveryContext,
): Promise<{ state: LogState; place: SnapshotPlace | null }> {
  for (const name of await snapshotNames(ctx.disk, ctx.folder)) {
    const folder = `${ctx.folder}/${SNAPSHOTS_FOLDER}/${name}`;
    try {
      return await loadSnapshot(ctx.disk, folder, ctx.key, ctx.slots);
    } catch (error) {
      ctx.warn(`The snapshot ${folder} is left aside (${messageOf(error)}); the log is read instead.`);
    }
  }
  return { state: emptyState(ctx.key, ctx.slots), place: null };
}

async function sealedPositions({ disk, folder }: RecoveryContext): Promise<number[]> {
  const names = await disk.list(`${folder}/${SEGMENTS_FOLDER}`);
  const positions = names.map(positionOfSegment).filter((position) => position !== null);
  return positions.sort((a, b) => a - b);
}

/** The files up to where the snapshot stands; those before its last one must be there, and as long as they were. */
async function knownSegments(
  ctx: RecoveryContext,
  place: SnapshotPlace | null,
  sealed: readonly number[],
): Promise<Segment[]> {
  const segments: Segment[] = [];
  let start = 0;
  for (const { first_position, bytes } of place?.segments ?? []) {
    segments.push({ first_position, start, bytes });
    start += bytes;
  }
  for (const { first_position, bytes } of segments.slice(0, -1)) {
    const path = `${ctx.folder}/${SEGMENTS_FOLDER}/${segmentName(first_position)}`;
    if (!sealed.includes(first_position)) throw damageIn(ctx, path, 1, MISSING);
    const size = await withFile(ctx, path, (file) => file.size());
    if (size !== bytes) throw damageIn(ctx, path, 1, `the segment has ${size} bytes instead of ${bytes}`);
  }
  return segments;
}

/** A sealed segment was durable as a whole before it was sealed: nothing in it may be damaged. */
async function readSealed(
  ctx: RecoveryContext,
  replay: Replay,
  segments: Segment[],
  first_position: number,
): Promise<void> {
  const path = `${ctx.folder}/${SEGMENTS_FOLDER}/${segmentName(first_position)}`;
  const segment = continueWith(replay, segments, first_position);
  if (segment === null) {
    const expected = replay.state.ledger.position + 1;
    throw damageIn(ctx, path, 1, `position ${expected} is in no file: a sealed segment is missing before it`);
  }
  await withFile(ctx, path, async (file) => {
    let damage: Damage | null = null;
    const end = await visitLines(file, segment.bytes, (line, offset) => {
      if (damage !== null) return;
      const why = replay.take(line, segment.start + offset);
      if (why !== null) damage = { offset, why };
    });
    const size = await file.size();
    if (damage === null && (end !== size || replay.isWithinUnit)) {
      damage = { offset: replay.whole_end - segment.start, why: 'the segment ends here, within a unit' };
    }
    if (damage !== null) throw await refusalAt(ctx, file, path, damage);
    segment.bytes = size;
  });
}

/** The segment that begins at a position: the one the snapshot stands in, or the next; null when there is a gap. */
function continueWith(replay: Replay, segments: Segment[], first_position: number): Segment | null {
  const last = segments[segments.length - 1];
  if (last?.first_position === first_position) return last;
  if (first_position !== replay.state.ledger.position + 1) return null;
  const segment = { first_position, start: replay.whole_end, bytes: 0 };
  segments.push(segment);
  return segment;
}

async function readActive(
  ctx: RecoveryContext,
  replay: Replay,
  segments: Segment[],
  place: SnapshotPlace | null,
): Promise<void> {
  const sealed_last = await isLastSealed(ctx, segments);
  const segment = sealed_last
    ? continueWith(replay, segments, replay.state.ledger.position + 1)
    : segments[segments.length - 1];
  if (segment === undefined || segment === null) throw new Error('A log always has an active segment.');
  const path = `${ctx.folder}/${ACTIVE_FILE}`;
  const mark = await readDurableMark(ctx.disk, ctx.folder);
  const known: Known = {
    position: Math.max(mark?.position ?? 0, place?.position ?? 0),
    bytes: Math.max(segment.bytes, mark?.first_position === segment.first_position ? mark.bytes : 0),
  };
  const file = await ctx.disk.openRead(path);
  if (file === null) {
    if (known.position > replay.state.ledger.position || known.bytes > 0)
      throw damageIn(ctx, path, 1, MISSING);
    return;
  }
  try {
    await readActiveFile(ctx, replay, segment, { file, path }, known);
  } finally {
    await file.close();
  }
}

async function isLastSealed(ctx: RecoveryContext, segments: readonly Segment[]): Promise<boolean> {
  const last = segments[segments.length - 1];
  return last === undefined || (await sealedPositions(ctx)).includes(last.first_position);
}

interface Damage {
  readonly offset: number;
  readonly why: string;
}

async function readActiveFile(
  ctx: RecoveryContext,
  replay: Replay,
  segment: Segment,
  { file, path }: { file: DiskFile; path: string },
  known: Known,
): Promise<void> {
  let damage: Damage | null = null as Damage | null;
  const end = await visitLines(file, segment.bytes, (line, offset) => {
    const why = damage === null ? replay.take(line, segment.start + offset) : null;
    if (why !== null) damage = { offset, why };
    if (damage !== null) learn(known, line, offset);
  });
  const size = await file.size();
  const whole = Math.min(replay.whole_end - segment.start, size);
  if (whole < known.bytes || replay.state.ledger.position < known.position) {
    throw await refusalAt(ctx, file, path, damage ?? { offset: whole, why: endsEarly(end, size) });
  }
  segment.bytes = whole;
  if (whole < size) await cutTornTail(ctx, path, file, whole, replay.state.ledger.position);
}

const endsEarly = (end: number, size: number): string =>
  end < size ? 'the line is cut off' : 'the log ends here, and what followed is missing';

/** What a crash left half written was never confirmed to anybody. It is kept aside all the same. */
async function cutTornTail(
  ctx: RecoveryContext,
  path: string,
  file: DiskFile,
  whole: number,
  position: number,
): Promise<void> {
  const tail = await readFully(file, whole, (await file.size()) - whole);
  const names = new Set(await ctx.disk.list(ctx.folder));
  let number = 1;
  while (names.has(`torn-${position}-${number}.bin`)) number += 1;
  const aside = `${ctx.folder}/torn-${position}-${number}.bin`;
  const copy = await ctx.disk.openAppend(aside);
  try {
    await writeFully(copy, tail);
    await copy.sync();
  } finally {
    await copy.close();
  }
  await ctx.disk.syncFolder(ctx.folder);
  const log = await ctx.disk.openAppend(path);
  try {
    await log.truncate(whole);
    await log.sync();
  } finally {
    await log.close();
  }
  ctx.warn(
    `${path} ended in ${tail.length} bytes that a crash left unfinished after position ${position}. ` +
      `Nobody had been told of them. They are kept in ${aside}, and the log goes on from there.`,
  );
}

async function refusalAt(
  ctx: RecoveryContext,
  file: DiskFile,
  path: string,
  { offset, why }: Damage,
): Promise<LogDamaged> {
  return damageIn(ctx, path, await lineNumberAt(file, offset), why);
}

const MISSING = 'the file is missing';

const damageIn = ({ root, key }: RecoveryContext, path: string, line: number, why: string): LogDamaged =>
  new LogDamaged({ ...key, file: shownPath(root, path), line, why });

async function withFile<T>(
  ctx: RecoveryContext,
  path: string,
  action: (file: DiskFile) => Promise<T>,
): Promise<T> {
  const file = await ctx.disk.openRead(path);
  if (file === null) throw damageIn(ctx, path, 1, MISSING);
  try {
    return await action(file);
  } finally {
    await file.close();
  }
}
