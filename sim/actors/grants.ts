import type { CallOutcome } from './client.js';
import type { SimCommand, SimHandle } from './commands.js';

interface GrantReplyFields {
  readonly success: boolean;
  readonly resumed?: boolean;
  readonly claim: { id: string; task_id: string; generation: number; session_id: string } | null;
}

/** Returns the handles that a reply grants, as the client will remember them. */
export function grantedHandles(
  outcome: CallOutcome,
  { request_ids }: SimCommand,
  incarnation: number,
): SimHandle[] {
  if (outcome.kind === 'unknown') return [];
  const { results = [outcome.reply] } = outcome.reply as { results?: readonly unknown[] };
  return results.flatMap((item, index) => {
    const { success, claim, resumed } = item as Partial<GrantReplyFields>;
    if (success !== true || claim == null) return [];
    const { task_id, generation, session_id, id: claim_id } = claim;
    const granted_by = resumed === true ? null : (request_ids[index] ?? '');
    return [{ task_id, generation, session_id, claim_id, granted_by, incarnation }];
  });
}
