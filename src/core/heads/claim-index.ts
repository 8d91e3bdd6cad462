import type { Head, LastClaim } from '../claims/head.js';
import { planPositionOf } from '../plan/plan-position.js';
import { subjectKindOf } from '../subject.js';

/** Indexes over heads, so that queries need not scan a million of them. */
export const emptyClaimIndex = () => ({
  /** Subjects with an ACTIVE or SUSPENDED claim, lapsed or not, by the session that holds them. */
  bySession: new Map<string, Set<string>>(),
  /**
   * For each of these sessions, a time by which the leases of all its claims have ended, rounded up to a whole second. It
   * stays when a claim ends early. It is infinite once the session has held a claim without a lease, or an edge, because such
   * a claim may outlast its lease.
   */
  latestLeaseEndBySession: new Map<string, number>(),
  /** Sessions in which an agent may have such a claim. Some may have none, so `claimedSubjectsOf` filters by agent. */
  sessionsByAgent: new Map<string, Set<string>>(),
  /** Subjects with a backoff after an error, even if the backoff is over. */
  inBackoff: new Set<string>(),
  /** Tracks in which an agent has been granted work. */
  tracksByAgent: new Map<string, Set<string>>(),
  /** Number of COMPLETED tasks and subtasks. */
  completedTasks: 0,
});
export type ClaimIndex = ReturnType<typeof emptyClaimIndex>;

export function updateClaimIndex(index: ClaimIndex, before: Head | null, after: Head): void {
  const { subject } = after;
  const completedDelta = Number(after.phase === 'COMPLETED') - Number(before?.phase === 'COMPLETED');
  if (completedDelta !== 0 && subjectKindOf(subject) === 'task') index.completedTasks += completedDelta;
  const claimBefore = before === null ? null : openClaimOf(before);
  const claimAfter = openClaimOf(after);
  if (claimBefore !== null && claimAfter !== null && before?.generation === after.generation) {
    raiseLatestLeaseEnd(index, subject, claimAfter);
    return;
  }
  if (claimBefore !== null) {
    removeFromSet(index.bySession, claimBefore.session_id, subject);
    if (!index.bySession.has(claimBefore.session_id)) {
      index.latestLeaseEndBySession.delete(claimBefore.session_id);
      removeFromSet(index.sessionsByAgent, claimBefore.agent_id, claimBefore.session_id);
    }
  }
  if (claimAfter !== null) {
    addToSet(index.bySession, claimAfter.session_id, subject);
    addToSet(index.sessionsByAgent, claimAfter.agent_id, claimAfter.session_id);
    raiseLatestLeaseEnd(index, subject, claimAfter);
  }
  if (after.claim !== null && before?.generation !== after.generation)
    recordTrackOfAgent(index, after.claim.agent_id, subject);
  if (after.retry_at_ms !== null) index.inBackoff.add(subject);
  else if (index.inBackoff.size > 0) index.inBackoff.delete(subject);
}

function raiseLatestLeaseEnd(
  { latestLeaseEndBySession }: ClaimIndex,
  subject: string,
  claim: LastClaim,
): void {
  const leaseMs = claim.state === 'SUSPENDED' ? claim.suspended_until_ms : claim.expires_at_ms;
  const endMs = subjectKindOf(subject) === 'edge' ? null : leaseMs;
  const endSecondMs = endMs === null ? Number.POSITIVE_INFINITY : Math.ceil(endMs / 1000) * 1000;
  const latestMs = latestLeaseEndBySession.get(claim.session_id);
  if (latestMs === undefined || latestMs < endSecondMs)
    latestLeaseEndBySession.set(claim.session_id, endSecondMs);
}

/** Subjects with an ACTIVE or SUSPENDED claim, lapsed or not. */
export function* subjectsWithOpenClaim({ bySession }: Pick<ClaimIndex, 'bySession'>): Generator<string> {
  for (const subjects of bySession.values()) yield* subjects;
}

export interface ClaimHoldings extends Pick<ClaimIndex, 'bySession' | 'sessionsByAgent'> {
  readonly heads: Pick<ReadonlyMap<string, Head>, 'get'>;
}

/** Subjects on which an agent has an ACTIVE or SUSPENDED claim. */
export function claimedSubjectsOf(state: ClaimHoldings, agentId: string): string[] {
  const sessions = [...(state.sessionsByAgent.get(agentId) ?? [])];
  const subjects = sessions.flatMap((id) => [...(state.bySession.get(id) ?? [])]);
  return subjects.filter((subject) => state.heads.get(subject)?.claim?.agent_id === agentId);
}

/** Records that an agent was granted work in the subject's track, now or earlier. */
export function recordTrackOfAgent(
  index: Pick<ClaimIndex, 'tracksByAgent'>,
  agentId: string,
  subject: string,
): void {
  const { track } = planPositionOf(subject);
  if (track !== null) addToSet(index.tracksByAgent, agentId, track);
}

export const openClaimOf = ({ claim }: Head) =>
  claim !== null && (claim.state === 'ACTIVE' || claim.state === 'SUSPENDED') ? claim : null;

function addToSet(sets: Map<string, Set<string>>, key: string, item: string): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([item]));
  else set.add(item);
}

/** Removes an item, and the whole set once it is empty: otherwise the sets of old sessions would accumulate. */
function removeFromSet(sets: Map<string, Set<string>>, key: string, item: string): void {
  const set = sets.get(key);
  set?.delete(item);
  if (set?.size === 0) sets.delete(key);
}
