import type { HandleRefusal } from '../../contract/codes.js';
import type { ClaimHandle, DecisionContext } from '../commands.js';
import type { Head } from '../head.js';
import { isLive, isOpenClaim } from '../lease.js';

/** Whether the handle belongs to the head's last grant: same session, and same claim id if the handle has one. */
export function isHolderHandle(head: Head, handle: ClaimHandle, context: DecisionContext): boolean {
  if (head.claim === null || head.claim.session_id !== handle.session_id) return false;
  if (handle.claim_id === null) return true;
  return (
    handle.claim_id === context.claimIdOf({ generation: head.generation, request_id: head.claim.request_id })
  );
}

/** Refusals common to all commands of a holder except submit. Null: the handle is valid, though the lease may have lapsed. */
export function handleFault(head: Head, handle: ClaimHandle, context: DecisionContext): HandleRefusal | null {
  if (head.generation === 0 || head.claim === null) return 'NO_CLAIM';
  if (handle.generation !== head.generation) return 'GENERATION_MISMATCH';
  if (head.claim.state === 'RELEASED' || head.claim.state === 'SUPERSEDED') return 'NO_CLAIM';
  return isHolderHandle(head, handle, context) ? null : 'SESSION_MISMATCH';
}

/** Refusal for events reported about a subject: during a live claim only the holder may report, otherwise any agent. */
export function reporterFault(
  head: Head,
  handle: ClaimHandle | null,
  context: DecisionContext,
): HandleRefusal | null {
  if (!isLive(head, context.now_ms, context.rules)) return null;
  return handle === null ? 'SESSION_MISMATCH' : handleFault(head, handle, context);
}

/** What `stepReporterFault` needs to know about an event of a run. */
export interface ReportedStep {
  readonly generation: number | undefined;
  readonly begins_run_or_wait: boolean;
  /** Whether the event only records how the run ends. */
  readonly concludes_run: boolean;
}

/**
 * Refusal for an event of a run; null if the event may be recorded. Only the last holder may report it, even after its
 * claim has ended, because the run may have been requested, or cut off, before that. Once the candidate is decided, no run
 * or wait may begin, but any executor may record how the run ended. After an operator has taken the claim away, for example
 * by a cancellation, nobody may report an event.
 */
export function stepReporterFault(
  head: Head,
  { generation, begins_run_or_wait, concludes_run }: ReportedStep,
  handle: ClaimHandle | null,
  context: DecisionContext,
): HandleRefusal | null {
  if (generation !== head.generation) return 'GENERATION_MISMATCH';
  if (isTakenAway(head)) return 'NO_CLAIM';
  const fault = reporterFault(head, handle, context);
  if (fault !== null) return fault;
  const isDecided = head.phase === 'COMPLETED' || isRejected(head);
  if (isDecided && concludes_run) return null;
  if (isDecided && begins_run_or_wait) return 'NO_CLAIM';
  if (handle !== null && isHolderHandle(head, handle, context)) return null;
  return head.claim !== null && isOpenClaim(head.claim) ? 'SESSION_MISMATCH' : 'NO_CLAIM';
}

const isRejected = ({ gate, generation }: Head): boolean =>
  gate?.decision === 'REJECTED' && gate.generation === generation;

/**
 * Whether an operator took the claim away. The rejection of a candidate also ends the claim by force but does not count
 * here, because the run must still record its end.
 */
const isTakenAway = (head: Head): boolean => head.claim?.release_reason === 'FORCED' && !isRejected(head);
