import { type EventEnvelope, msOf } from '../../core/events/envelope.js';
import { fold } from '../../core/fold.js';
import { EventIndex } from '../event-index.js';
import { ProjectLedger } from '../ledger.js';
import type { TenantPermits } from '../permits.js';
import type { FoldHead, ProjectKey } from '../store.js';
import { BlockIndex } from './block-index.js';
import { CHAIN_START, fieldsFromLog } from './line.js';
import { type CheckedLine, type LineFault, LogCheck } from './log-check.js';
import { LineOffsets } from './offsets.js';

/**
 * The in-memory state of a project's log. A commit changes the ledger at once; the other parts describe what is durable.
 */
export interface LogState {
  readonly ledger: ProjectLedger;
  readonly index: EventIndex;
  readonly offsets: LineOffsets;
  readonly blocks: BlockIndex;
  /** The foreign lines that no seal covers yet. */
  readonly foreign: Buffer[];
  /** The last seal, or the hash of the last format-1 line; `CHAIN_START` before both. */
  seal: string;
  /** The latest time of any event or batch. */
  newest_ms: number;
}

export const emptyState = (projectKey: ProjectKey, permits: TenantPermits): LogState => ({
  ledger: new ProjectLedger(projectKey, permits),
  index: new EventIndex(),
  offsets: new LineOffsets(),
  blocks: new BlockIndex(),
  foreign: [],
  seal: CHAIN_START,
  newest_ms: 0,
});

/** The location of a line in the whole log. */
export interface LineSpan {
  readonly offset: number;
  /** Exclusive, after the newline. */
  readonly end: number;
}

/** Applies the lines of a log to a state, and checks that each continues the one before. */
export class LogReplay {
  /** The end of the last whole block, format-1 transaction or foreign line, as an offset in the whole log. */
  committedEnd: number;
  readonly check: LogCheck<LineSpan>;

  constructor(
    readonly state: LogState,
    private readonly nowMs: number,
    end: number,
  ) {
    this.committedEnd = end;
    const { ledger, seal, foreign, blocks } = state;
    const { key, position } = ledger;
    const logEnd = { key, seal, position, foreign, isFormat1: blocks.count === 0 && foreign.length === 0 };
    this.check = new LogCheck(logEnd, {
      onTransaction: (lines, atMs) => this.applyTransaction(lines, atMs),
      onWhole: (last, block) => {
        if (block !== null) state.blocks.add(block.first.offset, last.end, block.sealBefore);
        state.seal = logEnd.seal;
        this.committedEnd = last.end;
      },
    });
  }

  /** Adds the next line. Returns what is damaged; null: nothing, or it is not certain yet (`LogCheck.addLine`). */
  addLine(bytes: Buffer, offset: number): LineFault<LineSpan> | null {
    return this.check.addLine(bytes, { offset, end: offset + bytes.length + 1 });
  }

  /** Adds the foreign lines that are left of a torn tail. Returns null, or where there are too many. */
  addLeftOver(foreign: readonly Buffer[]): LineFault<LineSpan> | null {
    this.check.dropUnsealed();
    this.check.dropUndecided();
    for (const line of foreign) {
      const offset = this.committedEnd;
      const span = { offset, end: offset + line.length + 1 };
      const excess = this.check.addForeign(Buffer.from(line), span);
      if (excess !== null) return excess;
    }
    return null;
  }

  private applyTransaction(lines: readonly CheckedLine<LineSpan>[], batchMs: number): void {
    const { state } = this;
    const last = lines[lines.length - 1] as CheckedLine<LineSpan>;
    const events: EventEnvelope[] = [];
    state.newest_ms = Math.max(state.newest_ms, batchMs);
    for (const { line, location } of lines) {
      const { event } = line;
      if (event === null) continue;
      events.push(event);
      state.newest_ms = Math.max(state.newest_ms, msOf(event.timestamp) || 0);
      state.index.add(event.position, event);
      state.offsets.add(location.offset);
    }
    // The time of the transaction, from which its requests expire; the present if it has no event. Never later than the
    // present: an event dated in the future must not end permits that are still held.
    const atMs = events.length === 0 ? this.nowMs : Math.min(state.newest_ms, this.nowMs);
    state.ledger.restore(events, fieldsFromLog(last.line.log), fold as FoldHead, atMs);
  }
}
