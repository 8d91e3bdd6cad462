import type { Head } from '../claims/head.js';
import { kindOf } from '../subject.js';
import { placeOf } from './place.js';

/** Heads by what one looks for in them, so that nobody need walk over a million. */
export interface ClaimIndex {
  /** Subjects with an ACTIVE or SUSPENDED claim, lapsed or not. */
  readonly live: Set<string>;
  /** The same subjects by the session that holds them. */
  readonly bySession: Map<string, Set<string>>;
  /** The sessions in which an agent may hold some of them: `subjectsOf` tells which. */
  readonly sessionsOf: Map<string, Set<string>>;
  /** Subjects that wait after an error, over or not. */
  readonly paused: Set<string>;
  /** The tracks an agent has been granted work in. */
  readonly tracksOf: Map<string, Set<string>>;
  /** How many tasks and subtasks are COMPLETED. */
  completed: number;
}

export const emptyClaimIndex = (): ClaimIndex => ({
  live: new Set(),
  bySession: new Map(),
  sessionsOf: new Map(),
  paused: new Set(),
  tracksOf: new Map(),
  completed: 0,
});

/** Keeps the index true when a head moves. */
export function moveClaim(index: ClaimIndex, before: Head | null, after: Head): void {
  const { subject } = after;
  const done = Number(after.phase === 'COMPLETED') - Number(before?.phase === 'COMPLETED');
  if (done !== 0 && kindOf(subject) === 'task') index.completed += done;
  const was = before === null ? null : openClaim(before);
  const is = openClaim(after);
  if (was !== null && is !== null && before?.generation === after.generation) return;
  if (was !== null) {
    index.live.delete(subject);
    remove(index.bySession, was.session_id, subject);
    if (!index.bySession.has(was.session_id)) remove(index.sessionsOf, was.agent_id, was.session_id);
  }
  if (is !== null) {
    index.live.add(subject);
    add(index.bySession, is.session_id, subject);
    add(index.sessionsOf, is.agent_id, is.session_id);
  }
  if (after.retry_at_ms !== null) index.paused.add(subject);
  else if (index.paused.size > 0) index.paused.delete(subject);
}

/** Who holds what. */
export interface Holdings extends Pick<ClaimIndex, 'bySession' | 'sessionsOf'> {
  readonly heads: ReadonlyMap<string, Head>;
}

/** The subjects on which an agent has an ACTIVE or SUSPENDED claim. */
export function subjectsOf({ heads, bySession, sessionsOf }: Holdings, agent_id: string): string[] {
  const ofSessions = [...(sessionsOf.get(agent_id) ?? [])].flatMap((id) => [...(bySession.get(id) ?? [])]);
  return ofSessions.filter((subject) => heads.get(subject)?.claim?.agent_id === agent_id);
}

/** An agent was granted this subject, now or once: it knows its way about in that track. */
export function enterTrack(index: ClaimIndex, agent_id: string, subject: string): void {
  const { track } = placeOf(subject);
  if (track !== null) add(index.tracksOf, agent_id, track);
}

const openClaim = ({ claim }: Head) =>
  claim !== null && (claim.state === 'ACTIVE' || claim.state === 'SUSPENDED') ? claim : null;

function add(sets: Map<string, Set<string>>, key: string, item: string): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([item]));
  else set.add(item);
}

/** A key without items goes too, or sessions long over would pile up. */
function remove(sets: Map<string, Set<string>>, key: string, item: string): void {
  const set = sets.get(key);
  set?.delete(item);
  if (set?.size === 0) sets.delete(key);
}
