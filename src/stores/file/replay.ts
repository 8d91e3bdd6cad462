import { type EventEnvelope, msOf } from '../../core/events/envelope.js';
import { EventIndex } from '../event-index.js';
import { ProjectLedger } from '../ledger.js';
import type { TenantSlots } from '../slots.js';
import type { FoldHead, ProjectKey } from '../store.js';
import { type ChainEnd, misfit, placeInUnit } from './chain.js';
import { type DecodedLine, decodeLine, NO_HASH, recordOfLog } from './line.js';
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

interface PlacedLine {
  readonly line: DecodedLine;
  readonly offset: number;
}

/** Takes lines of a log in turn into a state, and checks that each continues the one before. */
export class Replay {
  private unit: PlacedLine[] = [];
  /** Where the last whole unit ends, in the log as a whole. */
  whole_end: number;

  constructor(
    readonly state: LogState,
    private readonly fold: FoldHead,
    private readonly now_ms: number,
    end: number,
  ) {
    this.whole_end = end;
  }

  /** The lines of the last unit so far do not make it whole. */
  get isWithinUnit(): boolean {
    return this.unit.length > 0;
  }

  /** A string says in words why the line cannot stand there; nothing has changed then. */
  take(bytes: Buffer, offset: number): string | null {
    const line = decodeLine(bytes);
    if (typeof line === 'string') return line;
    const { part, parts } = placeInUnit(line.log.unit);
    const why = misfit(line, part, this.end);
    if (why !== null) return why;
    this.unit.push({ line, offset });
    if (part === parts) this.takeUnit(offset + bytes.length + 1);
    return null;
  }

  private get end(): ChainEnd {
    const { state, unit } = this;
    const { key, position } = state.ledger;
    const hash = unit[unit.length - 1]?.line.hash ?? state.hash;
    return { key, hash, position: position + unit.length, parts: unit.length };
  }

  private takeUnit(end: number): void {
    const { state, unit } = this;
    const last = (unit[unit.length - 1] as PlacedLine).line;
    const events: EventEnvelope[] = [];
    for (const { line, offset } of unit) {
      const { event, log } = line;
      state.newest_ms = Math.max(state.newest_ms, log.at_ms ?? 0);
      if (event === null) continue;
      events.push(event);
      state.newest_ms = Math.max(state.newest_ms, msOf(event.timestamp) || 0);
      state.index.add(event.position, event.subject, event.session_id);
      state.offsets.add(offset);
    }
    // A request counts from its own time, where there is an event to tell it. An event dated ahead must not free
    // what is still occupied.
    const at_ms = events.length === 0 ? this.now_ms : Math.min(state.newest_ms, this.now_ms);
    state.ledger.restore(events, recordOfLog(last.log), this.fold, at_ms);
    state.hash = last.hash;
    this.whole_end = end;
    this.unit = [];
  }
}
