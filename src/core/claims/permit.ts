import type { Decision } from './commands.js';
import { canTakeOver } from './lease.js';
import type { Rules } from './policy.js';

/**
 * Whether a decision needs a new permit among the tenant's live claims: a grant does, and an escalation after the lease
 * has lapsed. A live claim keeps its permit, even if the policy changed.
 */
export function needsPermit({ code, head }: Decision, nowMs: number, rules: Rules): boolean {
  if (code === 'ESCALATED') return canTakeOver(head, nowMs, rules);
  return code === 'GRANTED' || code === 'REASSIGNED';
}
