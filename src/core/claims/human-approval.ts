import type { EventEnvelope } from '../events/envelope.js';
import { claimEventKindOf } from './claim-event-kinds.js';

/** The role in which a human works. Only a caller who may review can have it, so that no agent passes for one. */
export const HUMAN_ROLE = 'human';

/**
 * Whether a human stands behind an accepted result, by the log alone: they did the work, adopted it, or approved exactly
 * this candidate under this generation. `reviews`: the review events of the subject. A review that moved no head (told
 * by an agent, or imported) has no seq, and decides nothing.
 */
export function isApprovedByHuman(accepted: EventEnvelope, reviews: readonly EventEnvelope[]): boolean {
  if (claimEventKindOf(accepted.event_type) === 'adopted' || accepted.agent_role === HUMAN_ROLE) return true;
  return reviews.some(
    ({ event_type, subject, seq, generation, position, payload }) =>
      claimEventKindOf(event_type) === 'reviewed' &&
      subject === accepted.subject &&
      seq !== undefined &&
      generation === accepted.generation &&
      position < accepted.position &&
      payload.decision === 'APPROVED' &&
      payload.candidate_sha256 === accepted.payload.result_sha256,
  );
}
