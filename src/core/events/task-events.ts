import { claimPayloads } from './claim-payloads.js';

/** What is written about a task: the names of seed 004, and those it lacks in the same style. */
export const taskEvents = {
  CLAIM_ACQUIRED: claimPayloads.granted,
  LEASE_RENEWED: claimPayloads.renewed,
  CLAIM_LOST: claimPayloads.lost,
  CLAIM_RELEASED: claimPayloads.released,
  CLAIM_SUSPENDED: claimPayloads.suspended,
  CLAIM_RESUMED: claimPayloads.resumed,
  RESULT_SUBMITTED: claimPayloads.accepted,
  RESULT_ADOPTED: claimPayloads.adopted,
  RESULT_ESCALATED: claimPayloads.escalated,
  REVIEW_COMPLETED: claimPayloads.reviewed,
  TASK_HELD: claimPayloads.held,
  TASK_UNHELD: claimPayloads.unheld,
  TASK_RESET: claimPayloads.reset,
  CLAIM_REJECTED: claimPayloads.claim_denied,
  RESULT_REJECTED: claimPayloads.result_denied,
  NOTE_ADDED: claimPayloads.noted,
};
