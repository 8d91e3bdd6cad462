import { z } from 'zod';
import { claimPayloadSchemas } from './claim-payload-schemas.js';
import { count, name, openObject, sentence } from './fields.js';

/** Reported evidence of convergence. */
const evidenceFields = {
  iteration: count.exactOptional(),
  evaluators: openObject.exactOptional(),
  convergence_type: name.exactOptional(),
  context_hash: name.exactOptional(),
};

/**
 * Events about an edge of a feature. Three types are both a claim event and a step of the methodology, so their schemas
 * have the fields of both; those of the methodology are optional.
 */
export const edgeEventSchemas = {
  edge_started: claimPayloadSchemas.granted.extend({
    iteration: count.exactOptional(),
    profile: name.exactOptional(),
    vector_type: name.exactOptional(),
  }),
  heartbeat: claimPayloadSchemas.renewed,
  claim_expired: claimPayloadSchemas.lost,
  edge_released: claimPayloadSchemas.released,
  claim_suspended: claimPayloadSchemas.suspended,
  claim_resumed: claimPayloadSchemas.resumed,
  edge_converged: claimPayloadSchemas.accepted.extend({
    ...evidenceFields,
    evaluators: z.union([name, openObject]).exactOptional(),
    next_edge: name.exactOptional(),
  }),
  result_adopted: claimPayloadSchemas.adopted.extend(evidenceFields),
  convergence_escalated: z.union([
    claimPayloadSchemas.escalated.extend({ ...evidenceFields, iteration: count }),
    claimPayloadSchemas.warned,
  ]),
  review_completed: claimPayloadSchemas.reviewed.extend({
    feedback: sentence.exactOptional(),
    all_evaluators_pass: z.boolean().exactOptional(),
    review_type: name.exactOptional(),
    gradient: openObject.exactOptional(),
  }),
  edge_held: claimPayloadSchemas.held,
  edge_unheld: claimPayloadSchemas.unheld,
  edge_reset: claimPayloadSchemas.reset,
  claim_rejected: claimPayloadSchemas.claim_denied,
  result_rejected: claimPayloadSchemas.result_denied.extend(evidenceFields),
  note_added: claimPayloadSchemas.noted,
};
