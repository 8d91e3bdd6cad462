import { type EventEnvelope, msOf } from '../../core/events/envelope.js';
import { fold } from '../../core/fold.js';
import { EventIndex } from '../event-index.js';
import { ProjectLedger } from '../ledger.js';
import type { TenantPermits } from '../permits.js';
import type { FoldHead, ProjectKey } from '../store.js';
import { ChainCheck, type CheckedLine } from './chain-check.js';
import { NO_HASH, recordFromLog } from './line.js';
import { LineOffsets } from './offsets.js';

/** The in-memory state of a project's log. It grows by whole transactions. */
export interface LogState {
  readonly ledger: ProjectLedger;
  readonly index: EventIndex;
  readonly offsets: LineOffsets;
  /** Of the last line. */
  hash: string;
  /** The latest time of any event or batch. */
  newest_ms: number;
}

export const emptyState = (key: ProjectKey, permits: TenantPermits): LogState => ({
  ledger: new ProjectLedger(key, permits),
  index: new EventIndex(),
  offsets: new LineOffsets(),
  hash: NO_HASH,
  newest_ms: 0,
});

/** The location of a line in the whole log. */
interface LineSpan {
  readonly offset: number;
  /** Exclusive, after the newline. */
  readonly end: number;
}

/** Applies the lines of a log to a state, and checks that each continues the one before. */
export class LogReplay {
  /** The end of the last complete transaction, as an offset in the whole log. */
  committedEnd: number;
  readonly check: ChainCheck<LineSpan>;

  constructor(
    readonly state: LogState,
    private readonly nowMs: number,
    end: number,
  ) {
    this.committedEnd = end;
    const { key, position } = state.ledger;
    this.check = new ChainCheck({ key, hash: state.hash, position }, (lines) => this.applyTransaction(lines));
  }

  /** Returns null, or why the line is not valid there; an invalid line changes nothing. */
  addLine(bytes: Buffer, offset: number): string | null {
    return this.check.addLine(bytes, { offset, end: offset + bytes.length + 1 });
  }

  private applyTransaction(lines: readonly CheckedLine<LineSpan>[]): void {
    const { state } = this;
    const last = lines[lines.length - 1] as CheckedLine<LineSpan>;
    const events: EventEnvelope[] = [];
    for (const { line, location } of lines) {
      const { event, log } = line;
      state.newest_ms = Math.max(state.newest_ms, log.at_ms ?? 0);
      if (event === null) continue;
      events.push(event);
      state.newest_ms = Math.max(state.newest_ms, msOf(event.timestamp) || 0);
      state.index.add(event.position, event.subject, event.session_id);
      state.offsets.add(location.offset);
    }
    // A request counts from its own time, if an event gives that time. An event dated in the future must not release
    // permits that are still held.
    const atMs = events.length === 0 ? this.nowMs : Math.min(state.newest_ms, this.nowMs);
    state.ledger.restore(events, recordFromLog(last.line.log), fold as FoldHead, atMs);
    state.hash = last.line.hash;
    this.committedEnd = last.location.end;
  }
}
