import type { EventEnvelope } from '../../core/events/envelope.js';
import { matcher } from '../event-matcher.js';
import type { EventQuery } from '../store.js';
import { placeError } from './chain-check.js';
import { type DecodedLine, decodeLine } from './line.js';
import { visitWholeLines } from './line-reader.js';
import type { LogFiles } from './log-files.js';
import type { RecoveredLog } from './recovery.js';
import { UNEXPLAINED } from './redacted-lines.js';
import type { LogState } from './replay.js';

const PAGE_EVENTS_MAX = 1000;
/** Lines this close together are read in one call. */
const GAP_BYTES_MAX = 32 * 1024;
const READ_BYTES_MAX = 1024 * 1024;

/** Reads events from the log's files, up to a durable position. Rejects with `LogDamaged`. */
export async function readEvents(
  log: RecoveredLog,
  query: EventQuery,
  durablePosition: number,
): Promise<EventEnvelope[]> {
  const matches = matcher(query);
  const until_position = Math.min(query.until_position ?? durablePosition, durablePosition);
  const found: EventEnvelope[] = [];
  let after = Math.max(query.after, 0);
  while (found.length < query.limit && after < until_position) {
    // Without other filters every position matches, so read no more than requested.
    const limit = Math.min(PAGE_EVENTS_MAX, Math.max(query.limit - found.length, 1));
    const positions = firstWithinBytes(
      log,
      nextPositions(log.state, query, { after, until_position, limit }),
    );
    if (positions.length === 0) break;
    for (const event of await readPositions(log, positions)) {
      if (found.length < query.limit && matches(event)) found.push(event);
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
  // A filter without an index may reject most of what is read, so read whole pages.
  const count = Math.min(isFiltered(query) ? PAGE_EVENTS_MAX : page.limit, page.until_position - page.after);
  return Array.from({ length: count }, (_, index) => page.after + 1 + index);
}

/** At least one position, and no more than can be decoded without delaying other work. */
function firstWithinBytes({ files, state }: RecoveredLog, positions: readonly number[]): readonly number[] {
  let bytes = 0;
  const end = positions.findIndex((position) => {
    bytes += endOfLine(files, state, position) - state.offsets.at(position);
    return bytes > READ_BYTES_MAX;
  });
  return end === -1 ? positions : positions.slice(0, Math.max(end, 1));
}

const isFiltered = (query: EventQuery): boolean =>
  [query.types, query.task_id, query.feature_id, query.edge, query.agent_id, query.since, query.until].some(
    (filter) => filter !== undefined,
  );

/** Reads the events at ascending positions. Reads that are far apart run concurrently. */
async function readPositions(log: RecoveredLog, positions: readonly number[]): Promise<EventEnvelope[]> {
  const lines = await readLines(log, positions);
  for (const { event, isRedacted } of lines) {
    if (isRedacted && !(await isExplainedRedaction(log, event))) {
      throw await damageTo(log, event.position, UNEXPLAINED);
    }
  }
  return lines.map(({ event }) => event);
}

/** Whether a redaction event of the log records this payload as what retention leaves of an event. */
export const isExplainedRedaction = (log: RecoveredLog, event: EventEnvelope): Promise<boolean> =>
  log.redactions.explains(event, log.state, (positions) => readRedactions(log, positions));

/** A redaction event is never itself redacted: no other event would explain the last one. */
async function readRedactions(log: RecoveredLog, positions: readonly number[]): Promise<EventEnvelope[]> {
  const lines = await readLines(log, positions);
  const changed = lines.find(({ isRedacted }) => isRedacted);
  if (changed !== undefined) throw await damageTo(log, changed.event.position, UNEXPLAINED);
  return lines.map(({ event }) => event);
}

type EventLine = DecodedLine & { readonly event: EventEnvelope };

async function readLines(log: RecoveredLog, positions: readonly number[]): Promise<EventLine[]> {
  const { files, state } = log;
  const spans = readSpansOf(files, state, positions);
  const positionByOffset = new Map(positions.map((position) => [state.offsets.at(position), position]));
  const found = (await Promise.all(spans.map((span) => readSpan(log, span, positionByOffset)))).flat();
  const missing = positions.find((position, at) => found[at]?.event.position !== position);
  if (missing !== undefined) throw await damageTo(log, missing, 'the line is cut off or missing');
  return found;
}

interface ReadSpan {
  readonly from: number;
  /** The start of the line after the last requested one, or the end of the log. */
  to: number;
}

function readSpansOf(files: LogFiles, state: LogState, positions: readonly number[]): ReadSpan[] {
  const spans: ReadSpan[] = [];
  for (const position of positions) {
    const from = state.offsets.at(position);
    const segment = files.segmentAt(from);
    const to = Math.min(endOfLine(files, state, position), segment.start + segment.bytes);
    const span = spans[spans.length - 1];
    const canJoin =
      span !== undefined &&
      span.from >= segment.start &&
      from - span.to <= GAP_BYTES_MAX &&
      to - span.from <= READ_BYTES_MAX;
    if (canJoin) span.to = to;
    else spans.push({ from, to });
  }
  return spans;
}

/** The start of the next event's line, or the end of the log. */
const endOfLine = (files: LogFiles, { index, offsets }: LogState, position: number): number =>
  position < index.position ? offsets.at(position + 1) : files.end;

/** Reads a span and skips the lines between the requested ones. */
async function readSpan(
  log: RecoveredLog,
  { from, to }: ReadSpan,
  positionByOffset: ReadonlyMap<number, number>,
): Promise<EventLine[]> {
  const bytes = await log.files.read(from, to - from);
  const lines: EventLine[] = [];
  let damage: { readonly position: number; readonly why: string } | null = null;
  visitWholeLines(bytes ?? Buffer.alloc(0), from, (bytes, offset) => {
    const position = positionByOffset.get(offset);
    if (position === undefined || damage !== null) return;
    const line = decodeLine(bytes);
    const why = typeof line === 'string' ? line : locationError(line, log.state, position);
    if (why === null) lines.push(line as EventLine);
    else damage = { position, why };
  });
  const found = damage as { readonly position: number; readonly why: string } | null;
  if (found !== null) throw await damageTo(log, found.position, found.why);
  return lines;
}

/** Detects a whole line that belongs to another position or another log. */
const locationError = ({ event }: DecodedLine, { ledger }: LogState, position: number): string | null =>
  event === null
    ? `it has no event, but position ${position} was expected`
    : placeError(event, ledger.key, position);

const damageTo = ({ files, state }: RecoveredLog, position: number, why: string) =>
  files.damageAt(state.ledger.key, state.offsets.at(position), why);
