import type { HandleRefusal } from '../../contract/codes.js';
import type { ClaimHandle, DecisionContext } from '../commands.js';
import type { Head } from '../head.js';
import { isLive } from '../lease.js';

/** Whether the handle belongs to the head's last grant: same session, and same claim id if the handle has one. */
export function isHolderHandle(head: Head, handle: ClaimHandle, context: DecisionContext): boolean {
  if (head.claim === null || head.claim.session_id !== handle.session_id) return false;
  if (handle.claim_id === null) return true;
  return (
    handle.claim_id === context.claimIdOf({ generation: head.generation, request_id: head.claim.request_id })
  );
}

/** Refusals common to renew, release, suspend and resume. Null: the handle is valid for this claim. */
export function handleFault(head: Head, handle: ClaimHandle, context: DecisionContext): HandleRefusal | null {
  if (head.generation === 0 || head.claim === null) return 'NO_CLAIM';
  if (handle.generation !== head.generation) return 'GENERATION_MISMATCH';
  if (head.claim.state === 'RELEASED' || head.claim.state === 'SUPERSEDED') return 'NO_CLAIM';
  return isHolderHandle(head, handle, context) ? null : 'SESSION_MISMATCH';
}

/** Refusal for events reported about a subject: of a live claim only the holder may report, otherwise anybody may. */
export function reporterFault(
  head: Head,
  handle: ClaimHandle | null,
  context: DecisionContext,
): HandleRefusal | null {
  if (!isLive(head, context.now_ms, context.rules)) return null;
  return handle === null ? 'SESSION_MISMATCH' : handleFault(head, handle, context);
}

/**
 * The same for a step of a run: also after the claim has ended, only the last generation may report, and not if an operator
 * has taken the claim away, as a cancellation does.
 */
export function stepReporterFault(
  head: Head,
  generation: number | undefined,
  handle: ClaimHandle | null,
  context: DecisionContext,
): HandleRefusal | null {
  if (generation !== head.generation) return 'GENERATION_MISMATCH';
  return isTakenAway(head) ? 'NO_CLAIM' : reporterFault(head, handle, context);
}

/** A rejected candidate ends its claim by force too, but its run has still to record that. */
function isTakenAway({ claim, gate, generation }: Head): boolean {
  const isRejected = gate?.decision === 'REJECTED' && gate.generation === generation;
  return claim?.release_reason === 'FORCED' && !isRejected;
}
