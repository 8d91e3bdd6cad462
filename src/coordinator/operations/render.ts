import type { Decision, OverlappingClaim } from '../../core/claims/commands.js';
import type { AcceptedResult, Head, LastClaim } from '../../core/claims/head.js';
import type { GrantedClaim } from '../../core/contract/claim-records.js';
import type {
  ClaimResult,
  GateResult,
  NoteResult,
  ReleaseResult,
  RenewalResult,
  SubmissionResult,
} from '../../core/contract/claim-replies.js';
import {
  adviceFor,
  type ClaimRefusal,
  type GateRefusal,
  type GateSuccess,
  type HandleRefusal,
  type RefusalCode,
  type RenewalRefusal,
  type SubmissionRefusal,
} from '../../core/contract/codes.js';
import { isoTime } from '../../core/events/envelope.js';
import { planPositionOf } from '../../core/views/index.js';
import type { ProjectKey } from '../../stores/store.js';
import { fieldProblem, type Problem } from '../wire/problem.js';

/** Renders decisions as the wire contract defines them. Nothing is decided here. */

const timeOrNull = (atMs: number | null | undefined): string | null =>
  atMs === null || atMs === undefined ? null : isoTime(atMs);

type GrantResult = Extract<ClaimResult, { reason: 'GRANTED' }>;

function grantedClaim(projectKey: ProjectKey, head: Head, id: string): GrantedClaim {
  const claim = head.claim as LastClaim;
  const { track, sequence } = planPositionOf(head.subject);
  return {
    id,
    ...projectKey,
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
export function grantResult(projectKey: ProjectKey, head: Head, id: string): GrantResult {
  return {
    success: true,
    reason: 'GRANTED',
    claim: grantedClaim(projectKey, head, id),
    current_holder: null,
  };
}

/** The reply to a claim. `session_id` is the session in the request. */
export function renderClaimResult(
  projectKey: ProjectKey,
  decision: Decision,
  { id, session_id }: { id: string; session_id: string },
): ClaimResult | Problem {
  if (decision.ok) {
    const { warnings, replayed } = decision.details;
    return {
      ...grantResult(projectKey, decision.next, id),
      ...(replayed === true ? { resumed: true } : {}),
      ...(warnings === undefined ? {} : { warnings }),
    };
  }
  return decision.code === 'INVALID_LEASE'
    ? invalidLeaseProblem(decision)
    : claimRefusal(decision, session_id);
}

const OWN_CLAIM_ADVICE =
  'You already hold this task. Renew, submit or release it with the handle from the grant. If you have lost the handle, ask for it again: claim with resume: true.';

/** The reply to a refused claim, with the fields that belong to its code. */
function claimRefusal({ code, details, head }: Decision, sessionId: string): ClaimResult {
  const reason = code as Exclude<ClaimRefusal, 'NOTHING_READY'>;
  const next = details.says ?? adviceFor(reason, head.subject);
  // The code is the second field of every reply, where people find it easily.
  const refusal = { success: false, reason, claim: null, current_holder: null, next } as const;
  switch (reason) {
    case 'DENIED_ACTIVE_CLAIM': {
      const current_holder = head.claim?.agent_id ?? null;
      return {
        ...refusal,
        reason,
        current_holder,
        ...(head.claim?.session_id === sessionId ? { next: details.says ?? OWN_CLAIM_ADVICE } : {}),
        stale: details.stale ?? false,
        expires_at: timeOrNull(details.expires_at_ms),
      };
    }
    case 'DENIED_DEPENDENCIES':
      return { ...refusal, reason, waiting_for: details.waiting_for ?? [] };
    case 'DENIED_HELD':
      return { ...refusal, reason, hold_reason: details.hold_reason ?? '' };
    case 'DENIED_BACKOFF':
      return { ...refusal, reason, retry_at: isoTime(details.retry_at_ms ?? 0) };
    case 'DENIED_LIMIT':
      return { ...refusal, reason, limit: details.limit ?? '', limit_value: details.limit_value ?? null };
    case 'DENIED_PARALLEL':
      return { ...refusal, reason, ...sharedModulesFields(details.shared ?? []) };
    default:
      return { ...refusal, reason };
  }
}

const sharedModulesFields = (shared: readonly OverlappingClaim[]) => ({
  shared_modules: [...new Set(shared.flatMap(({ shared_modules }) => shared_modules))].sort(),
  holders: shared.map(({ subject, ...holder }) => ({ task_id: subject, ...holder })),
});

export const refusedClaimResult = <Reason extends ClaimRefusal>(reason: Reason) =>
  ({ success: false, reason, claim: null, current_holder: null, next: adviceFor(reason) }) as const;

/** The reply to a claim in a project that does not exist. */
export const unknownProjectResult = ({ detail }: Problem) => ({
  ...refusedClaimResult('UNKNOWN_PROJECT'),
  next: detail,
});

export const invalidLeaseProblem = ({ details }: Decision): Problem =>
  fieldProblem('lease_duration_seconds', details.says ?? '', 'INVALID_LEASE');

/** The code of a refusal and what to do next. `decide` returns only codes of the command's own refusals. */
const refusal = <Code extends RefusalCode>({ code, details }: Decision) =>
  ({ success: false, reason: code as Code, next: details.says ?? adviceFor(code as Code) }) as const;

export function renderRenewalResult(decision: Decision): RenewalResult | Problem {
  if (decision.code === 'INVALID_LEASE') return invalidLeaseProblem(decision);
  if (!decision.ok) return { ...refusal<RenewalRefusal>(decision), new_expiry: null };
  return { success: true, reason: 'RENEWED', new_expiry: timeOrNull(decision.details.expires_at_ms) };
}

export const renderReleaseResult = (decision: Decision): ReleaseResult =>
  decision.ok ? { success: true, reason: 'RELEASED' } : refusal<HandleRefusal>(decision);

export const renderNoteResult = (decision: Decision): NoteResult =>
  decision.ok ? { success: true, reason: 'NOTED' } : refusal<HandleRefusal>(decision);

export function renderSubmissionResult({ code, details, next: head }: Decision): SubmissionResult {
  const fields = {
    current_generation: head.generation,
    work_lost: details.work_lost ?? false,
    late: details.late ?? false,
    parked: details.parked ?? null,
  };
  if (code === 'ACCEPTED') {
    const { work_product_ref } = head.result as AcceptedResult;
    return { accepted: true, reason: code, ...fields, work_product_ref };
  }
  const reason = code as SubmissionRefusal;
  const next = [details.says ?? [], adviceFor(reason)].flat().join(' ');
  const refused = { accepted: false, ...fields, work_product_ref: null, next } as const;
  return reason === 'NOT_CONVERGED'
    ? { ...refused, reason, failing: details.failing ?? [] }
    : { ...refused, reason };
}

export function renderGateResult(decision: Decision): GateResult {
  const { code, details, next: head } = decision;
  const fields = { generation: head.generation, until: timeOrNull(details.expires_at_ms) };
  return decision.ok
    ? { success: true, reason: code as GateSuccess, ...fields }
    : { ...refusal<GateRefusal>(decision), ...fields };
}
