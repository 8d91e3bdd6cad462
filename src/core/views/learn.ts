import type { Head } from '../claims/head.js';
import type { NewEvent } from '../events/envelope.js';
import type { RecordHead } from '../record.js';
import { kindOf, PLAN_SUBJECT } from '../subject.js';
import { enterTrack } from './claim-index.js';
import { evolveWork, setHead, type WorkState } from './project-state.js';

interface StoredHead {
  readonly subject: string;
  readonly seq: number;
}

/** What a store was asked to commit, as far as a view is concerned. */
export interface CommittedUnit {
  readonly swaps: readonly { readonly head: StoredHead; readonly events: readonly NewEvent[] }[];
  readonly notes: readonly NewEvent[];
}

/**
 * Takes a head as the store has it, if it is newer than the one known. Its events, when they come, are counted
 * and move it no further. The plan's own head is left to its events: it says nothing of the tasks.
 */
export function learnHead(state: WorkState, head: StoredHead): void {
  if (head.subject === PLAN_SUBJECT) return;
  if (kindOf(head.subject) === 'record') {
    const known = state.records.get(head.subject);
    if (known === undefined || known.seq < head.seq) state.records.set(head.subject, head as RecordHead);
    return;
  }
  learnClaims(state, head as Head);
}

function learnClaims(state: WorkState, head: Head): void {
  const before = state.heads.get(head.subject) ?? null;
  if (before !== null && before.seq >= head.seq) return;
  setHead(state, before, head);
  const isGrant = head.claim !== null && before?.generation !== head.generation;
  if (isGrant) enterTrack(state, head.claim.agent_id, head.subject);
}

/**
 * Takes a commit into the state, given the positions of its events: swaps in order, then notes, null for a note
 * that was there before. The heads are taken as they were committed, so that state and store share them. True:
 * others have committed in between, and their events must be read first; until then only the heads are known.
 */
export function absorb(
  state: WorkState,
  unit: CommittedUnit,
  positions: readonly (number | null)[],
): boolean {
  const first = positions.find((position) => position !== null);
  const isNext = first === undefined || first === null || first === state.position + 1;
  let index = 0;
  for (const { head, events } of unit.swaps) {
    if (isNext && head.subject === PLAN_SUBJECT) evolvePlan(state, events, positions.slice(index));
    learnHead(state, head);
    index += events.length;
  }
  if (isNext) moveTo(state, unit, positions);
  return !isNext;
}

function evolvePlan(
  state: WorkState,
  events: readonly NewEvent[],
  positions: readonly (number | null)[],
): void {
  for (const [index, event] of events.entries()) {
    evolveWork(state, { position: positions[index] as number, ...event });
  }
}

function moveTo(state: WorkState, unit: CommittedUnit, positions: readonly (number | null)[]): void {
  for (let at = positions.length - 1; at >= 0; at -= 1) {
    const position = positions[at];
    if (position == null) continue;
    state.position = Math.max(state.position, position);
    const swapped = unit.swaps.at(-1)?.events.at(-1);
    state.last_updated = (unit.notes.at(-1) ?? swapped)?.timestamp ?? state.last_updated;
    return;
  }
}
