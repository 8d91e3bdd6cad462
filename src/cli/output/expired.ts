import type { TaskClaim } from '../../core/contract/claims.js';
import type { CommandContext } from '../context.js';
import { formatUtc } from './text.js';

export function expiredText(
  claims: readonly TaskClaim[],
  next: string | null,
  { table }: CommandContext,
): string[] {
  if (claims.length === 0) return ['No claim has expired.'];
  const rows = table(claims, [
    { head: 'Task', cell: ({ task_id }) => task_id, is_flexible: true },
    { head: 'Generation', cell: ({ generation }) => String(generation) },
    { head: 'Agent', cell: ({ agent_id }) => agent_id, is_flexible: true },
    { head: 'Session', cell: ({ session_id }) => session_id, is_flexible: true },
    { head: 'State', cell: ({ state }) => state },
    { head: 'Ended (UTC)', cell: ({ expires_at }) => formatUtc(expires_at), is_fixed: true },
  ]);
  return next === null ? [rows] : [rows, `More: gen task expired --after ${next}`];
}
