import type { Decision, SharedClaim } from '../../core/claims/commands.js';
import type { Head } from '../../core/claims/head.js';
import { isoTime } from '../../core/events/envelope.js';
import { planPositionOf } from '../../core/views/index.js';
import type { ProjectKey } from '../../stores/store.js';
import { adviceFor } from '../wire/advice.js';
import type {
  ClaimResult,
  GateResult,
  GrantedClaim,
  ReleaseResult,
  RenewalResult,
  SubmissionResult,
} from '../wire/index.js';
import { type Problem, problem } from '../wire/problem.js';

/** Renders decisions as the wire contract defines them. Nothing is decided here. */

const timeOrNull = (atMs: number | null | undefined): string | null =>
  atMs === null || atMs === undefined ? null : isoTime(atMs);

function taskClaim(key: ProjectKey, head: Head, id: string): GrantedClaim | null {
  const { claim } = head;
  if (claim === null) return null;
  const { track, sequence } = planPositionOf(head.subject);
  return {
    id,
    tenant_id: key.tenant_id,
    project_id: key.project_id,
    task_id: head.subject,
    track,
    sequence,
    agent_id: claim.agent_id,
    session_id: claim.session_id,
    generation: head.generation,
    state: claim.state,
    claimed_at: isoTime(claim.claimed_at_ms),
    lease_duration_seconds: claim.lease_seconds,
    expires_at: timeOrNull(claim.expires_at_ms),
    work_product_ref: head.result?.work_product_ref ?? null,
    metadata: claim.metadata ?? {},
  };
}

/** A grant as its holder sees it, including the claim id. */
export function grantResult(key: ProjectKey, head: Head, id: string): ClaimResult {
  return { success: true, reason: 'GRANTED', claim: taskClaim(key, head, id), current_holder: null };
}

/** `agent_id` is the requesting agent. */
export function claimResult(
  key: ProjectKey,
  decision: Decision,
  { id, agent_id }: { id: string; agent_id: string },
): ClaimResult | Problem {
  const { code, details, head } = decision;
  if (decision.ok) {
    const { warnings } = details;
    return { ...grantResult(key, decision.next, id), ...(warnings === undefined ? {} : { warnings }) };
  }
  if (code === 'INVALID_LEASE') return invalidLeaseProblem();
  const current_holder = code === 'DENIED_ACTIVE_CLAIM' ? (head.claim?.agent_id ?? null) : null;
  return {
    success: false,
    reason: code,
    claim: null,
    current_holder,
    next: details.says ?? adviceFor(current_holder === agent_id ? 'OWN_CLAIM' : code, head.subject),
    ...(details.stale === undefined ? {} : { stale: details.stale }),
    ...(details.expires_at_ms === undefined ? {} : { expires_at: timeOrNull(details.expires_at_ms) }),
    ...(details.waiting_for === undefined ? {} : { waiting_for: details.waiting_for }),
    ...(details.hold_reason === undefined ? {} : { hold_reason: details.hold_reason }),
    ...(details.retry_at_ms === undefined ? {} : { retry_at: isoTime(details.retry_at_ms) }),
    ...(details.limit === undefined ? {} : { limit: details.limit }),
    ...(details.shared === undefined ? {} : sharedModulesFields(details.shared)),
  };
}

const sharedModulesFields = (shared: readonly SharedClaim[]) => ({
  shared_modules: [...new Set(shared.flatMap(({ shared_modules }) => shared_modules))].sort(),
  holders: shared.map(({ subject, ...rest }) => ({ task_id: subject, ...rest })),
});

export const deniedClaimResult = (reason: string): ClaimResult => ({
  success: false,
  reason,
  claim: null,
  current_holder: null,
  next: adviceFor(reason),
});

export const invalidLeaseProblem = (): Problem =>
  problem('INVALID_LEASE', adviceFor('INVALID_LEASE'), [
    {
      path: 'lease_duration_seconds',
      message: 'expected between min_lease_duration_seconds and max_lease_duration_seconds of the tenant',
    },
  ]);

export function renewalResult(decision: Decision): RenewalResult | Problem {
  if (decision.code === 'INVALID_LEASE') return invalidLeaseProblem();
  return {
    success: decision.ok,
    reason: decision.code,
    new_expiry: decision.ok ? timeOrNull(decision.details.expires_at_ms) : null,
    ...(decision.ok ? {} : { next: adviceFor(decision.code) }),
  };
}

export function releaseResult(decision: Decision): ReleaseResult {
  const base = { success: decision.ok, reason: decision.code };
  return decision.ok ? base : { ...base, next: adviceFor(decision.code) };
}

export function submissionResult(decision: Decision): SubmissionResult {
  const { details } = decision;
  return {
    accepted: decision.code === 'ACCEPTED',
    reason: decision.code,
    current_generation: decision.next.generation,
    work_lost: details.work_lost ?? false,
    late: details.late ?? false,
    work_product_ref: decision.code === 'ACCEPTED' ? (decision.next.result?.work_product_ref ?? null) : null,
    parked: details.parked ?? null,
    ...(details.failing === undefined ? {} : { failing: details.failing }),
    ...(decision.ok ? {} : { next: [details.says ?? [], adviceFor(decision.code)].flat().join(' ') }),
  };
}

export function gateResult(decision: Decision): GateResult {
  return {
    success: decision.ok,
    reason: decision.code,
    generation: decision.next.generation,
    until: timeOrNull(decision.details.expires_at_ms),
    ...(decision.ok ? {} : { next: adviceFor(decision.code) }),
  };
}
