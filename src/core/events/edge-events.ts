import { z } from 'zod';
import { claimPayloads } from './claim-payloads.js';
import { count, name, openObject, sentence } from './fields.js';

/** By what an edge is said to have converged. */
const evidence = {
  iteration: count.exactOptional(),
  evaluators: openObject.exactOptional(),
  convergence_type: name.exactOptional(),
  context_hash: name.exactOptional(),
};

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
    ...evidence,
    evaluators: z.union([name, openObject]).exactOptional(),
    next_edge: name.exactOptional(),
  }),
  result_adopted: claimPayloads.adopted.extend(evidence),
  convergence_escalated: z.union([
    claimPayloads.escalated.extend({ ...evidence, iteration: count }),
    claimPayloads.warned,
  ]),
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
  result_rejected: claimPayloads.result_denied.extend(evidence),
  note_added: claimPayloads.noted,
};
