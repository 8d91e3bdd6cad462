import type { Decision } from './commands.js';
import { canTakeOver } from './lease.js';
import type { Rules } from './policy.js';

/**
 * Who is among the tenant's live claims from now on, and was not before: who is granted work, and who waits for a human
 * when its lease is over. Who still holds its work has its place, whatever became of it in a change of policy.
 */
export function needsPermit({ code, head }: Decision, nowMs: number, rules: Rules): boolean {
  if (code === 'ESCALATED') return canTakeOver(head, nowMs, rules);
  return code === 'GRANTED' || code === 'REASSIGNED';
}
