import { z } from 'zod';
import type { Policy } from '../contract/settings.js';

/** Maximum number of proposals of a project that wait for a person. */
export const PENDING_PROPOSALS_MAX = 100;
/** Maximum length of a proposal, so that it fits into an event. */
export const PROPOSAL_CHARS_MAX = 64 * 1024;

/** Tasks that an agent proposed, and what a person decided about them. */
export const taskProposalSchema = z.strictObject({
  state: z.enum(['pending', 'approved', 'rejected']),
  /** The tasks as the agent sent them. When a person approves them, they are checked again against the plan of that time. */
  tasks: z.array(z.unknown()),
  proposed_by: z.string(),
  proposed_at: z.string(),
  decided_by: z.string().nullable(),
  comment: z.string().nullable(),
});
export type TaskProposal = z.infer<typeof taskProposalSchema>;

/** Whether tasks of this caller need a person's approval: all do except an admin's, unless the policy allows them. */
export const needsApproval = (
  { task_proposals }: Policy,
  { may_administer }: { readonly may_administer: boolean },
): boolean => !may_administer && task_proposals === 'review';
