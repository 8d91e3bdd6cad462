import type { Decision } from '../../core/claims/commands.js';
import { isSignOfLife } from '../../core/claims/decide/sign-of-life.js';
import { needsPermit, permitHeldUntilMs } from '../../core/claims/lease.js';
import type { LogStep, Permit, PermitLimit } from '../../stores/store.js';
import type { DecisionView } from './decision-view.js';
import type { RequestKey } from './operation.js';
import { CLAIMS_SCOPE, SESSIONS_SCOPE } from './permit-limits.js';

const NO_LIMITS: readonly PermitLimit[] = [];

/**
 * The step that commits a decision on the claim of a task: the same changes as `TransactionBuilder` makes for an action
 * of its session. Null for everything that one step cannot commit: a refusal, several events, a condition on the time,
 * permits of a track, or a decision in a closed session.
 */
export function stepOf(
  view: DecisionView,
  decision: Decision,
  requestKey: RequestKey | null,
  requestId: string | undefined,
): LogStep | null {
  const { next, events } = decision;
  const [event] = events;
  if (event === undefined || next.claim === null || !isSingleStep(view, decision)) return null;
  const { session_id } = next.claim;
  if (view.lookUpSession(session_id).record?.value.state === 'closed') return null;
  const rules = view.rulesOf(next.subject);
  const leaseMs = permitHeldUntilMs(next, rules);
  const permits: Permit[] = [{ scope: CLAIMS_SCOPE, member: next.subject, until_ms: leaseMs, on_head: true }];
  const until_ms = view.activeUntilMs(session_id, leaseMs, next.subject);
  if (!view.isSessionCountedUntil(session_id, until_ms))
    permits.push({ scope: SESSIONS_SCOPE, member: session_id, until_ms });
  const permit_limits = needsPermit(decision, view.now_ms, rules) ? view.tenantPermitLimits : NO_LIMITS;
  const stamped = view.stampEvent(event);
  if (requestId !== undefined && event.request_id === undefined && !isSignOfLife(decision, event))
    stamped.request_id = requestId;
  return { event: stamped, head: next, permits, permit_limits, request: requestKey };
}

function isSingleStep(view: DecisionView, decision: Decision): boolean {
  const { ok, events, loose_events, not_before_ms, not_after_ms } = decision;
  if (!ok || events.length !== 1 || loose_events.length > 0 || not_before_ms !== null) return false;
  if (not_after_ms !== null && view.now_ms >= not_after_ms) return false;
  return view.policy.max_agents_per_track === null;
}
