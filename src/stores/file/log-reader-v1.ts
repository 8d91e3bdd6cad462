import type { EventEnvelope } from '../../core/events/envelope.js';
import type { LogDamaged } from '../store.js';
import { READ_BYTES_MAX } from './block-reader.js';
import type { DecodedLine } from './line.js';
import { visitWholeLines } from './line-reader.js';
import { decodeV1Line } from './line-v1.js';
import { eventPositionError } from './log-check.js';
import type { LogFiles } from './log-files.js';
import type { RecoveredLog } from './recovery.js';
import type { LogState } from './replay.js';

/** Lines this close together are read in one call. */
const GAP_BYTES_MAX = 32 * 1024;

export type EventLine = DecodedLine & { readonly event: EventEnvelope };

/** Reads the format-1 lines at ascending positions. Each is checked by itself. Rejects with `LogDamaged`. */
export async function readV1Lines(log: RecoveredLog, positions: readonly number[]): Promise<EventLine[]> {
  const { files, state } = log;
  const spans = readSpansOf(files, state, positions);
  const positionByOffset = new Map(positions.map((position) => [state.offsets.at(position), position]));
  const lines = (await Promise.all(spans.map((span) => readSpan(log, span, positionByOffset)))).flat();
  const missing = positions.find((position, at) => lines[at]?.event.position !== position);
  if (missing !== undefined) throw await damageTo(log, missing, 'the line is cut off or missing');
  return lines;
}

interface ReadSpan {
  readonly from: number;
  /** The start of the event's line after the last requested one, or the end of their file. */
  to: number;
}

function readSpansOf(files: LogFiles, state: LogState, positions: readonly number[]): ReadSpan[] {
  const spans: ReadSpan[] = [];
  for (const position of positions) {
    const from = state.offsets.at(position);
    const segment = files.segmentAt(from);
    const to = Math.min(v1LineEnd(files, state, position), segment.start + segment.bytes);
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
export const v1LineEnd = (files: LogFiles, { index, offsets }: LogState, position: number): number =>
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
    const line = decodeV1Line(bytes);
    const why = typeof line === 'string' ? line : locationError(line, log.state, position);
    if (why === null) lines.push(line as EventLine);
    else damage = { position, why };
  });
  const firstDamage = damage as { readonly position: number; readonly why: string } | null;
  if (firstDamage !== null) throw await damageTo(log, firstDamage.position, firstDamage.why);
  return lines;
}

/** Why a whole line is not the line of this position; null if it is. */
export const locationError = (
  { event }: DecodedLine,
  { ledger }: LogState,
  position: number,
): string | null =>
  event === null
    ? `it has no event, but position ${position} was expected`
    : eventPositionError(event, ledger.key, position);

export const damageTo = (
  { files, state }: RecoveredLog,
  position: number,
  why: string,
): Promise<LogDamaged> => files.damageAt(state.ledger.key, state.offsets.at(position), why);
