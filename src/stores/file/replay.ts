import { type EventEnvelope, msOf } from '../../core/events/envelope.js';
import { EventIndex } from '../event-index.js';
import { ProjectLedger } from '../ledger.js';
import type { TenantSlots } from '../slots.js';
import type { FoldHead, ProjectKey } from '../store.js';
import { ChainCheck, type CheckedLine } from './chain-check.js';
import { NO_HASH, recordOfLog } from './line.js';
import { Offsets } from './offsets.js';

/** A project's log as memory holds it. Grows line by line, a whole unit at a time. */
export interface LogState {
  readonly ledger: ProjectLedger;
  readonly index: EventIndex;
  readonly offsets: Offsets;
  /** Of the last line. */
  hash: string;
  /** The newest time any event carries. */
  newest_ms: number;
}

export const emptyState = (key: ProjectKey, slots: TenantSlots): LogState => ({
  ledger: new ProjectLedger(key, slots),
  index: new EventIndex(),
  offsets: new Offsets(),
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
export class Replay {
  /** Where the last whole unit ends, in the log as a whole. */
  whole_end: number;
  private readonly check: ChainCheck<LineSpan>;

  constructor(
    readonly state: LogState,
    private readonly fold: FoldHead,
    private readonly now_ms: number,
    end: number,
  ) {
    this.whole_end = end;
    const { key, position } = state.ledger;
    this.check = new ChainCheck({ key, hash: state.hash, position }, (lines) => this.takeUnit(lines));
  }

  /** The lines of the last unit so far do not make it whole. */
  get isWithinUnit(): boolean {
    return this.check.isWithinUnit;
  }

  /** A string says in words why the line cannot stand there; nothing has changed then. */
  take(bytes: Buffer, offset: number): string | null {
    return this.check.take(bytes, { offset, end: offset + bytes.length + 1 });
  }

  /** Once everything was read: the offset of the first line that says less than it did, and no event explains why. */
  get unexplained(): number | null {
    return this.check.unexplained()[0]?.offset ?? null;
  }

  private takeUnit(unit: readonly CheckedLine<LineSpan>[]): void {
    const { state } = this;
    const last = unit[unit.length - 1] as CheckedLine<LineSpan>;
    const events: EventEnvelope[] = [];
    for (const { line, place } of unit) {
      const { event, log } = line;
      state.newest_ms = Math.max(state.newest_ms, log.at_ms ?? 0);
      if (event === null) continue;
      events.push(event);
      state.newest_ms = Math.max(state.newest_ms, msOf(event.timestamp) || 0);
      state.index.add(event.position, event.subject, event.session_id);
      state.offsets.add(place.offset);
    }
    // A request counts from its own time, where there is an event to tell it. An event dated ahead must not free
    // what is still occupied.
    const at_ms = events.length === 0 ? this.now_ms : Math.min(state.newest_ms, this.now_ms);
    state.ledger.restore(events, recordOfLog(last.line.log), this.fold, at_ms);
    state.hash = last.line.hash;
    this.whole_end = last.place.end;
  }
}
