import { claimPayloadSchemas } from './claim-payload-schemas.js';

/** Events about a task: the types of seed 004, and additional ones in the same style. */
export const taskEventSchemas = {
  CLAIM_ACQUIRED: claimPayloadSchemas.granted,
  LEASE_RENEWED: claimPayloadSchemas.renewed,
  CLAIM_LOST: claimPayloadSchemas.lost,
  CLAIM_RELEASED: claimPayloadSchemas.released,
  CLAIM_SUSPENDED: claimPayloadSchemas.suspended,
  CLAIM_RESUMED: claimPayloadSchemas.resumed,
  RESULT_SUBMITTED: claimPayloadSchemas.accepted,
  RESULT_ADOPTED: claimPayloadSchemas.adopted,
  RESULT_ESCALATED: claimPayloadSchemas.escalated,
  REVIEW_COMPLETED: claimPayloadSchemas.reviewed,
  TASK_HELD: claimPayloadSchemas.held,
  TASK_UNHELD: claimPayloadSchemas.unheld,
  TASK_RESET: claimPayloadSchemas.reset,
  CLAIM_REJECTED: claimPayloadSchemas.claim_denied,
  RESULT_REJECTED: claimPayloadSchemas.result_denied,
  NOTE_ADDED: claimPayloadSchemas.noted,
};
