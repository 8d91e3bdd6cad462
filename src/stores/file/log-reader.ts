import type { EventEnvelope } from '../../core/events/envelope.js';
import { eventMatcher } from '../event-matcher.js';
import type { EventQuery } from '../store.js';
import { BlockReader, READ_BYTES_MAX } from './block-reader.js';
import { NOT_OURS } from './line.js';
import { decodeLine } from './log-line.js';
import { damageTo, type EventLine, locationError, readV1Lines, v1LineEnd } from './log-reader-v1.js';
import type { RecoveredLog } from './recovery.js';
import { UNRECORDED_REDACTION } from './redacted-lines.js';
import type { LogState } from './replay.js';

const PAGE_EVENTS_MAX = 1000;

/** Reads events from the log's files, up to a durable position. Rejects with `LogDamaged`. */
export async function readEvents(
  log: RecoveredLog,
  query: EventQuery,
  durablePosition: number,
): Promise<EventEnvelope[]> {
  const matches = eventMatcher(query);
  const until_position = Math.min(query.until_position ?? durablePosition, durablePosition);
  const events: EventEnvelope[] = [];
  const blocks = new BlockReader(log);
  let after = Math.max(query.after, 0);
  while (events.length < query.limit && after < until_position) {
    // Without other filters every position matches, so read no more than requested.
    const limit = Math.min(PAGE_EVENTS_MAX, Math.max(query.limit - events.length, 1));
    const positions = firstWithinBytes(
      log,
      nextPositions(log.state, query, { after, until_position, limit }),
    );
    if (positions.length === 0) break;
    for (const event of await readPositions(log, blocks, positions)) {
      if (events.length < query.limit && matches(event)) events.push(event);
    }
    after = positions[positions.length - 1] as number;
  }
  return events;
}

interface PositionPage {
  readonly after: number;
  readonly until_position: number;
  readonly limit: number;
}

function nextPositions({ index }: LogState, query: EventQuery, page: PositionPage): number[] {
  const hasChain = query.subject !== undefined || query.session_id !== undefined;
  // A filter without an index may reject most of what is read, so read whole pages.
  return index.page(query, !hasChain && isFiltered(query) ? { ...page, limit: PAGE_EVENTS_MAX } : page);
}

/** The first positions whose blocks together fit `READ_BYTES_MAX`, at least one: verifying more would delay other work. */
function firstWithinBytes({ files, state }: RecoveredLog, positions: readonly number[]): readonly number[] {
  let bytes = 0;
  let lastBlock = -1;
  const end = positions.findIndex((position) => {
    const blockIndex = state.blocks.blockAt(state.offsets.at(position));
    if (blockIndex === null) bytes += v1LineEnd(files, state, position) - state.offsets.at(position);
    else if (blockIndex !== lastBlock) {
      const block = state.blocks.range(blockIndex);
      bytes += block.end - block.start;
      lastBlock = blockIndex;
    }
    return bytes > READ_BYTES_MAX;
  });
  return end === -1 ? positions : positions.slice(0, Math.max(end, 1));
}

const isFiltered = (query: EventQuery): boolean =>
  [query.types, query.task_id, query.feature_id, query.edge, query.agent_id, query.since, query.until].some(
    (filter) => filter !== undefined,
  );

/** Reads the events at ascending positions. */
async function readPositions(
  log: RecoveredLog,
  blocks: BlockReader,
  positions: readonly number[],
): Promise<EventEnvelope[]> {
  const lines = await readLines(log, blocks, positions);
  for (const { event, isRedacted } of lines) {
    if (isRedacted && !(await isRecordedRedaction(log, event))) {
      throw await damageTo(log, event.position, UNRECORDED_REDACTION);
    }
  }
  return lines.map(({ event }) => event);
}

/** Whether a redaction event of the log records this payload as what retention leaves of an event. */
export const isRecordedRedaction = (log: RecoveredLog, event: EventEnvelope): Promise<boolean> =>
  log.redactions.isRecorded(event, log.state, (positions) => readRedactions(log, positions));

/** A redaction event is never itself redacted: nothing would record the redaction of the last one. */
async function readRedactions(log: RecoveredLog, positions: readonly number[]): Promise<EventEnvelope[]> {
  const lines = await readLines(log, new BlockReader(log), positions);
  const changed = lines.find(({ isRedacted }) => isRedacted);
  if (changed !== undefined) throw await damageTo(log, changed.event.position, UNRECORDED_REDACTION);
  return lines.map(({ event }) => event);
}

/** Reads the lines at ascending positions. Format-1 lines come before all blocks. */
async function readLines(
  log: RecoveredLog,
  reader: BlockReader,
  positions: readonly number[],
): Promise<EventLine[]> {
  const { blocks, offsets } = log.state;
  const blockIndexes = positions.map((position) => blocks.blockAt(offsets.at(position)));
  const v1Count = blockIndexes.filter((blockIndex) => blockIndex === null).length;
  const v1Lines = v1Count === 0 ? [] : await readV1Lines(log, positions.slice(0, v1Count));
  const sealed =
    v1Count === positions.length ? [] : await readSealedLines(log, reader, positions.slice(v1Count));
  return v1Count === 0 ? sealed : [...v1Lines, ...sealed];
}

async function readSealedLines(
  log: RecoveredLog,
  reader: BlockReader,
  positions: readonly number[],
): Promise<EventLine[]> {
  const { blocks, offsets } = log.state;
  const blockIndexes = positions.map((position) => blocks.blockAt(offsets.at(position)) as number);
  const bytesByBlock = await reader.read([...new Set(blockIndexes)]);
  const lines: EventLine[] = [];
  for (const [at, position] of positions.entries()) {
    const blockIndex = blockIndexes[at] as number;
    const bytes = bytesByBlock.get(blockIndex) as Buffer;
    const start = offsets.at(position) - blocks.range(blockIndex).start;
    const decoded = decodeLine(bytes.subarray(start, bytes.indexOf(NEWLINE, start)));
    const line = typeof decoded !== 'string' && decoded.kind === 'transaction' ? decoded.line : null;
    const why = line === null ? NOT_OURS : locationError(line, log.state, position);
    if (why !== null) throw await damageTo(log, position, why);
    lines.push(line as EventLine);
  }
  return lines;
}

const NEWLINE = 0x0a;
