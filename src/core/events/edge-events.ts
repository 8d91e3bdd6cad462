import { z } from 'zod';
import { claimPayloads } from './claim-payloads.js';
import { count, name, openObject, sentence } from './fields.js';

/**
 * What is written about an edge of a feature. Three names mean a fact of the claim and a step of the
 * methodology at once, so their schemas carry the fields of both; those of the methodology may be absent.
 */
export const edgeEvents = {
  edge_started: claimPayloads.granted.extend({
    iteration: count.exactOptional(),
    profile: name.exactOptional(),
    vector_type: name.exactOptional(),
  }),
  heartbeat: claimPayloads.renewed,
  claim_expired: claimPayloads.lost,
  edge_released: claimPayloads.released,
  claim_suspended: claimPayloads.suspended,
  claim_resumed: claimPayloads.resumed,
  edge_converged: claimPayloads.accepted.extend({
    iteration: count.exactOptional(),
    convergence_type: name.exactOptional(),
    evaluators: z.union([name, openObject]).exactOptional(),
    context_hash: name.exactOptional(),
    next_edge: name.exactOptional(),
  }),
  result_adopted: claimPayloads.adopted,
  convergence_escalated: claimPayloads.escalated,
  review_completed: claimPayloads.reviewed.extend({
    feedback: sentence.exactOptional(),
    all_evaluators_pass: z.boolean().exactOptional(),
    review_type: name.exactOptional(),
    gradient: openObject.exactOptional(),
  }),
  edge_held: claimPayloads.held,
  edge_unheld: claimPayloads.unheld,
  edge_reset: claimPayloads.reset,
  claim_rejected: claimPayloads.claim_denied,
  result_rejected: claimPayloads.result_denied,
  note_added: claimPayloads.noted,
};
