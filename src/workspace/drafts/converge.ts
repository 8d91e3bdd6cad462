import type { Caller } from '../../coordinator/authentication/caller.js';
import type { Coordinator } from '../../coordinator/coordinator.js';
import { isProblem, type Problem } from '../../coordinator/wire/problem.js';
import type { SubmissionResult } from '../../core/contract/claim-replies.js';
import { collectDrafts } from './collect.js';
import type { ProjectFolder } from './draft-paths.js';
import type { Promotion } from './promote.js';
import { type PromotionLog, promoteAccepted } from './promote-accepted.js';
import { type DraftRefusal, isDraftRefusal } from './refusal.js';

/**
 * Collects the drafts of an agent, submits them as the result of `body`, and promotes them if they are accepted.
 * Drafts of a refused result are kept.
 */
export async function convergeFromDrafts(
  project: ProjectFolder,
  log: PromotionLog & { readonly coordinator: Pick<Coordinator, 'holder'> },
  { agent_id, body }: { agent_id: string; body: { task_id: string; generation: number } },
  caller?: Caller,
): Promise<{ reply: SubmissionResult | Problem; promotion: Promotion | null } | DraftRefusal> {
  const { task_id: subject, generation } = body;
  const manifest = await collectDrafts(project, log, { agent_id, subject, generation });
  if (isDraftRefusal(manifest)) return manifest;
  const reply = await log.coordinator.holder.submitResult(
    log.key,
    { ...body, result_data: manifest },
    caller,
  );
  const isAccepted = !isProblem(reply) && reply.accepted;
  return { reply, promotion: isAccepted ? await promoteAccepted(project, log) : null };
}
