import type { EventEnvelope } from '../events/envelope.js';
import { claimEventKindOf } from './claim-event-kinds.js';

/**
 * The role of a person who does the work. Only callers with review permission may use it, so that no agent can pass as a
 * person.
 */
export const HUMAN_ROLE = 'human';

/**
 * Whether a person is responsible for an accepted result, according to the log: a person did the work, adopted it, or
 * approved exactly this candidate under this generation. `reviews`: the review events of the subject. A review that
 * changed no head (reported by an agent, or imported) has no seq and does not count.
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
