import type { CallOutcome } from './client.js';
import type { SimCommand, SimHandle } from './commands.js';

interface GrantReplyFields {
  readonly success: boolean;
  readonly resumed?: boolean;
  readonly claim: { id: string; task_id: string; generation: number; session_id: string } | null;
}

/**
 * Returns the handles that a reply grants, as the client will remember them. A handle is as old as the reply, not as the
 * grant: a coordinator derives the claim id when it answers. A request that is repeated after a loss of history, and whose grant
 * survived, gets a handle that is valid, whereas the handle of a reply from before the loss is not, whenever it arrives.
 */
export function grantedHandles(outcome: CallOutcome, { request_ids }: SimCommand): SimHandle[] {
  if (outcome.kind === 'unknown') return [];
  const { incarnation } = outcome;
  const { results = [outcome.reply] } = outcome.reply as { results?: readonly unknown[] };
  return results.flatMap((item, index) => {
    const { success, claim, resumed } = item as Partial<GrantReplyFields>;
    if (success !== true || claim == null) return [];
    const { task_id, generation, session_id, id: claim_id } = claim;
    const granted_by = resumed === true ? null : (request_ids[index] ?? '');
    return [{ task_id, generation, session_id, claim_id, granted_by, incarnation }];
  });
}
