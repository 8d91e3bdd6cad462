import type { Decision } from '../claims/commands.js';
import type { Head } from '../claims/head.js';
import type { NewEvent } from '../events/envelope.js';
import type { RecordHead } from '../record.js';
import { PLAN_SUBJECT, subjectKindOf } from '../subject.js';
import { applyPlanEvent, evolveWork, setHead, type WorkState } from './project-state.js';

interface VersionedHead {
  readonly subject: string;
  readonly seq: number;
}

/** The parts of a committed transaction that a view needs. */
export interface CommittedTransaction {
  readonly swaps: readonly { readonly head: VersionedHead; readonly events: readonly NewEvent[] }[];
  readonly loose_events: readonly NewEvent[];
}

/**
 * Applies a head from the store if it is newer than the head in the state. The events that led to this head arrive later;
 * they are then counted but no longer change the head. The plan's head is skipped: it has no task data, so its events must
 * be folded.
 */
export function applyStoredHead(state: WorkState, head: VersionedHead): void {
  if (head.subject === PLAN_SUBJECT) return;
  if (subjectKindOf(head.subject) === 'record') {
    const current = state.records.get(head.subject);
    if (current === undefined || current.seq < head.seq) state.records.set(head.subject, head as RecordHead);
    return;
  }
  applyClaimHead(state, head as Head);
}

function applyClaimHead(state: WorkState, head: Head): void {
  const before = state.heads.get(head.subject) ?? null;
  if (before !== null && before.seq >= head.seq) return;
  setHead(state, before, head);
}

/**
 * Applies a commit to the state. `positions`: the positions of its events, swaps in order, then loose events; null for a
 * loose event that was already stored. The state keeps the committed heads themselves, not copies. Returns true if other
 * commits came in between. The caller must then read the events of those commits; until it has, the state contains only the
 * heads of this commit.
 */
export function applyCommit(
  state: WorkState,
  transaction: CommittedTransaction,
  positions: readonly (number | null)[],
): boolean {
  const firstPosition = positions.find((position) => position !== null);
  const isNext = firstPosition == null || firstPosition === state.position + 1;
  let index = 0;
  for (const { head, events } of transaction.swaps) {
    if (isNext && head.subject === PLAN_SUBJECT) {
      for (const [at, event] of events.entries())
        evolveWork(state, { position: positions[index + at] as number, ...event });
    }
    applyStoredHead(state, head);
    index += events.length;
  }
  if (isNext) advancePosition(state, transaction, positions);
  return !isNext;
}

/**
 * Applies a commit of a store that is the only writer of its log. The state and the store share their heads, so the state
 * already has the new heads. `wasCompleted`: whether the head that each swap replaced was completed.
 */
export function applyOwnCommit(
  state: WorkState,
  transaction: CommittedTransaction,
  wasCompleted: readonly boolean[],
  positions: readonly (number | null)[],
): void {
  let index = 0;
  for (const { head, events } of transaction.swaps) {
    if (head.subject === PLAN_SUBJECT) for (const event of events) applyPlanEvent(state.plan, event);
    else state.frontier.onHeadMoved(state, head.subject, wasCompleted[index] ?? false);
    index += 1;
  }
  advancePosition(state, transaction, positions);
}

/** Applies a step of a store that is the only writer of its log: one decision with one event at this position. */
export function applyOwnStep(
  state: WorkState,
  { head, next }: Pick<Decision, 'head' | 'next'>,
  position: number,
  timestamp: string,
): void {
  state.frontier.onHeadMoved(state, next.subject, head.phase === 'COMPLETED');
  state.position = position;
  state.last_updated = timestamp;
}

function advancePosition(
  state: WorkState,
  { swaps, loose_events }: CommittedTransaction,
  positions: readonly (number | null)[],
): void {
  const lastPosition = positions.findLast((position) => position !== null);
  if (lastPosition == null) return;
  state.position = Math.max(state.position, lastPosition);
  const lastEvent = loose_events.at(-1) ?? swaps.at(-1)?.events.at(-1);
  state.last_updated = lastEvent?.timestamp ?? state.last_updated;
}
