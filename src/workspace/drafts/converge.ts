import type { Caller } from '../../coordinator/authentication/caller.js';
import type { Coordinator } from '../../coordinator/coordinator.js';
import type { SubmissionResult } from '../../coordinator/wire/index.js';
import { isProblem, type Problem } from '../../coordinator/wire/problem.js';
import { collectDrafts } from './collect.js';
import type { ProjectFolder } from './draft-folders.js';
import type { Promotion } from './promote.js';
import { type PromotionLog, promoteAccepted } from './promote-accepted.js';
import { type DraftRefusal, isDraftRefusal } from './refusal.js';

export interface ConvergenceReply {
  readonly reply: SubmissionResult | Problem;
  /** The promoted files; null if the result was not accepted. */
  readonly promotion: Promotion | null;
}

/** A submission without its result, which comes from the drafts of `agent_id`. */
export interface ConvergenceRequest {
  readonly agent_id: string;
  readonly body: { readonly task_id: string; readonly generation: number };
}

/**
 * Collects the drafts, submits them, and promotes the result if it is accepted. Drafts of a refused result are
 * kept.
 */
export async function convergeFromDrafts(
  project: ProjectFolder,
  log: PromotionLog & { readonly coordinator: Pick<Coordinator, 'submitResult'> },
  { agent_id, body }: ConvergenceRequest,
  caller?: Caller,
): Promise<ConvergenceReply | DraftRefusal> {
  const { task_id: subject, generation } = body;
  const manifest = await collectDrafts(project, log, { agent_id, subject, generation });
  if (isDraftRefusal(manifest)) return manifest;
  const reply = await log.coordinator.submitResult(log.key, { ...body, result_data: manifest }, caller);
  const accepted = !isProblem(reply) && reply.accepted;
  return { reply, promotion: accepted ? await promoteAccepted(project, log) : null };
}
