import type { EventEnvelope } from '../../core/events/envelope.js';
import { matcher } from '../matches.js';
import { type EventQuery, StoreBroken } from '../store.js';
import { decodeLine } from './line.js';
import { visitWholeLines } from './line-reader.js';
import type { LogFiles } from './log-files.js';
import type { LogState } from './replay.js';

const PAGE_EVENTS_MAX = 1000;
/** Lines this close together are read in one go. */
const GAP_BYTES_MAX = 32 * 1024;
const READ_BYTES_MAX = 1024 * 1024;

/** Reads events back from the log's files, up to a position that is durable. */
export async function readEvents(
  files: LogFiles,
  state: LogState,
  query: EventQuery,
  durable_position: number,
): Promise<EventEnvelope[]> {
  const wanted = matcher(query);
  const until_position = Math.min(query.until_position ?? durable_position, durable_position);
  const found: EventEnvelope[] = [];
  let after = Math.max(query.after, 0);
  while (found.length < query.limit && after < until_position) {
    // Without other filters every position is a hit, so no more are read than are asked for.
    const limit = Math.min(PAGE_EVENTS_MAX, Math.max(query.limit - found.length, 1));
    const positions = nextPositions(state, query, { after, until_position, limit });
    if (positions.length === 0) break;
    for (const event of await readPositions(files, state, positions)) {
      if (found.length < query.limit && wanted(event)) found.push(event);
    }
    after = positions[positions.length - 1] as number;
  }
  return found;
}

interface PositionPage {
  readonly after: number;
  readonly until_position: number;
  readonly limit: number;
}

function nextPositions({ index }: LogState, query: EventQuery, page: PositionPage): number[] {
  if (query.subject !== undefined) return index.bySubject(query.subject, page);
  if (query.session_id !== undefined) return index.bySession(query.session_id, page);
  // A filter that no index serves may pass over most of what is read: whole pages then.
  const count = Math.min(isFiltered(query) ? PAGE_EVENTS_MAX : page.limit, page.until_position - page.after);
  return Array.from({ length: count }, (_, index) => page.after + 1 + index);
}

const isFiltered = (query: EventQuery): boolean =>
  [query.types, query.task_id, query.feature_id, query.edge, query.agent_id, query.since, query.until].some(
    (filter) => filter !== undefined,
  );

/** Ascending positions in, their events out. Reads that lie apart run side by side. */
async function readPositions(
  files: LogFiles,
  state: LogState,
  positions: readonly number[],
): Promise<EventEnvelope[]> {
  const runs = runsOf(files, state, positions);
  const wanted = new Set(positions.map((position) => state.offsets.at(position)));
  const events = await Promise.all(runs.map((run) => readRun(files, run, wanted)));
  return events.flat();
}

interface Run {
  readonly from: number;
  /** Where the line after the last wanted one begins, or the log ends. */
  to: number;
}

function runsOf(files: LogFiles, state: LogState, positions: readonly number[]): Run[] {
  const runs: Run[] = [];
  for (const position of positions) {
    const from = state.offsets.at(position);
    const segment = files.segmentAt(from);
    const next = position < state.index.position ? state.offsets.at(position + 1) : files.end;
    const to = Math.min(next, segment.start + segment.bytes);
    const run = runs[runs.length - 1];
    const joins =
      run !== undefined &&
      run.from >= segment.start &&
      from - run.to <= GAP_BYTES_MAX &&
      to - run.from <= READ_BYTES_MAX;
    if (joins) run.to = to;
    else runs.push({ from, to });
  }
  return runs;
}

/** What lies between the wanted lines is read with them, and passed over. */
async function readRun(
  files: LogFiles,
  { from, to }: Run,
  wanted: ReadonlySet<number>,
): Promise<EventEnvelope[]> {
  const bytes = await files.read(from, to - from);
  const events: EventEnvelope[] = [];
  visitWholeLines(bytes, from, (line, offset) => {
    if (!wanted.has(offset)) return;
    const decoded = decodeLine(line);
    if (typeof decoded === 'string') throw damaged(files, offset, decoded);
    if (decoded.event !== null) events.push(decoded.event);
  });
  return events;
}

function damaged(files: LogFiles, offset: number, why: string): StoreBroken {
  const segment = files.segmentAt(offset);
  const at = offset - segment.start;
  return new StoreBroken(
    `${files.pathOf(segment)}, byte ${at}: ${why}. The file was damaged after it was written. ` +
      'Put it back from a copy, then start again.',
  );
}
