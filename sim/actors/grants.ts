import type { CallOutcome } from './client.js';
import type { SimCommand, SimHandle } from './commands.js';

interface GrantReplyFields {
  readonly success: boolean;
  readonly resumed?: boolean;
  readonly claim: { id: string; task_id: string; generation: number; session_id: string } | null;
}

/**
 * Returns the handles that a reply grants, as the client will remember them. A handle has the incarnation of the reply, not
 * of the grant, because a coordinator derives the claim id when it answers. So after a loss of history, a repeated request
 * whose grant survived gets a valid handle. The handle of a reply from before the loss is never valid.
 */
export function grantedHandles(outcome: CallOutcome, { request_ids }: SimCommand): SimHandle[] {
  if (outcome.kind === 'unknown') return [];
  const { incarnation } = outcome;
  const { results = [outcome.reply] } = outcome.reply as { results?: readonly unknown[] };
  return results.flatMap((item, index) => {
    const { success, claim, resumed } = item as Partial<GrantReplyFields>;
    if (success !== true || claim == null) return [];
    const { task_id, generation, session_id, id: claim_id } = claim;
    const grant_request_id = resumed === true ? null : (request_ids[index] ?? '');
    return [{ task_id, generation, session_id, claim_id, grant_request_id, incarnation }];
  });
}
