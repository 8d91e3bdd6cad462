import type { Head } from '../claims/head.js';
import type { NewEvent } from '../events/envelope.js';
import type { RecordHead } from '../record.js';
import { kindOf, PLAN_SUBJECT } from '../subject.js';
import { enterTrack, moveClaim } from './claim-index.js';
import { evolveProject, type ProjectState } from './project-state.js';

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
export function learnHead(state: ProjectState, head: StoredHead): void {
  if (head.subject === PLAN_SUBJECT) return;
  if (kindOf(head.subject) === 'record') {
    const known = state.records.get(head.subject);
    if (known === undefined || known.seq < head.seq) state.records.set(head.subject, head as RecordHead);
    return;
  }
  learnClaims(state, head as Head);
}

function learnClaims(state: ProjectState, head: Head): void {
  const before = state.heads.get(head.subject) ?? null;
  if (before !== null && before.seq >= head.seq) return;
  state.heads.set(head.subject, head);
  moveClaim(state, before, head);
  if (head.claim !== null) enterTrack(state, head.claim.agent_id, head.subject);
}

/**
 * Takes a commit into the state, given the positions of its events: swaps in order, then notes, null for a note
 * that was there before. True: others have committed in between, and their events must be read first; until
 * then only the heads are known.
 */
export function absorb(
  state: ProjectState,
  unit: CommittedUnit,
  positions: readonly (number | null)[],
): boolean {
  const events = [...unit.swaps.flatMap((swap) => swap.events), ...unit.notes];
  for (const [index, event] of events.entries()) {
    const position = positions[index] ?? null;
    if (position === null) continue;
    if (position > state.position + 1) {
      for (const swap of unit.swaps) learnHead(state, swap.head);
      return true;
    }
    evolveProject(state, { ...event, position });
  }
  return false;
}
