import type { Answer } from './client.js';
import type { Command, SimHandle } from './commands.js';

interface Told {
  readonly success: boolean;
  readonly claim: { id: string; task_id: string; generation: number; session_id: string } | null;
}

/** What an answer grants, as whoever asked will remember it. */
export function handlesIn(answer: Answer, { request_ids }: Command, incarnation: number): SimHandle[] {
  if (answer.kind === 'unknown') return [];
  const { results = [answer.reply] } = answer.reply as { results?: readonly unknown[] };
  return results.flatMap((one, at) => {
    const { success, claim } = one as Partial<Told>;
    if (success !== true || claim == null) return [];
    const { task_id, generation, session_id, id: claim_id } = claim;
    return [{ task_id, generation, session_id, claim_id, granted_by: request_ids[at] ?? '', incarnation }];
  });
}
