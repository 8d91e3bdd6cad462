import { type EventEnvelope, msOf } from '../../core/events/envelope.js';
import { EventIndex } from '../event-index.js';
import { ProjectLedger } from '../ledger.js';
import type { TenantPermits } from '../permits.js';
import type { FoldHead, ProjectKey } from '../store.js';
import { ChainCheck, type CheckedLine } from './chain-check.js';
import { NO_HASH, recordFromLog } from './line.js';
import { LineOffsets } from './offsets.js';

/** A project's log as memory holds it. Grows line by line, a whole unit at a time. */
export interface LogState {
  readonly ledger: ProjectLedger;
  readonly index: EventIndex;
  readonly offsets: LineOffsets;
  /** Of the last line. */
  hash: string;
  /** The newest time any event carries. */
  newest_ms: number;
}

export const emptyState = (key: ProjectKey, permits: TenantPermits): LogState => ({
  ledger: new ProjectLedger(key, permits),
  index: new EventIndex(),
  offsets: new LineOffsets(),
  hash: NO_HASH,
  newest_ms: 0,
});

/** Where a line lies in the log as a whole. */
interface LineSpan {
  readonly offset: number;
  /** Of its newline, exclusive. */
  readonly end: number;
}

/** Takes lines of a log in turn into a state, and checks that each continues the one before. */
export class LogReplay {
  /** Where the last whole unit ends, in the log as a whole. */
  committedEnd: number;
  private readonly check: ChainCheck<LineSpan>;

  constructor(
    readonly state: LogState,
    private readonly fold: FoldHead,
    private readonly nowMs: number,
    end: number,
  ) {
    this.committedEnd = end;
    const { key, position } = state.ledger;
    this.check = new ChainCheck({ key, hash: state.hash, position }, (lines) => this.applyTransaction(lines));
  }

  /** The lines of the last unit so far do not make it whole. */
  get isWithinTransaction(): boolean {
    return this.check.isWithinTransaction;
  }

  /** A string says in words why the line cannot stand there; nothing has changed then. */
  addLine(bytes: Buffer, offset: number): string | null {
    return this.check.addLine(bytes, { offset, end: offset + bytes.length + 1 });
  }

  /** Once everything was read: the offset of the first line that says less than it did, and no event explains why. */
  get unexplainedRedaction(): number | null {
    return this.check.unexplainedRedactions()[0]?.offset ?? null;
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
    // A request counts from its own time, where there is an event to tell it. An event dated ahead must not free
    // what is still occupied.
    const atMs = events.length === 0 ? this.nowMs : Math.min(state.newest_ms, this.nowMs);
    state.ledger.restore(events, recordFromLog(last.line.log), this.fold, atMs);
    state.hash = last.line.hash;
    this.committedEnd = last.location.end;
  }
}
