import { claimRoleFault } from '../../agent-role.js';
import type { ClaimEventPayloads } from '../../events/claim-payload-schemas.js';
import { isoTime } from '../../events/envelope.js';
import type {
  ClaimCommand,
  ClaimFacts,
  Decision,
  DecisionCode,
  DecisionContext,
  DecisionDetails,
  GrantRequest,
} from '../commands.js';
import { isExhausted, nextGeneration } from '../generation.js';
import type { Head } from '../head.js';
import {
  finiteOrNull,
  holdText,
  isLeaseAllowed,
  isLive,
  isStale,
  lapsesAtMs,
  leaseBoundsText,
} from '../lease.js';
import type { Rules } from '../policy.js';
import { describeReachedLimit } from '../reached-limit.js';
import {
  DecisionBuilder,
  draftClaimEvent,
  type EventAttribution,
  refuse,
  succeedUnchanged,
} from './decision-builder.js';

type DetailedRefusal = { code: DecisionCode; details?: DecisionDetails };

/** Decides a claim. The first matching refusal wins, in the order of `CLAIM_REFUSALS`. */
export function decideClaim(head: Head, command: ClaimCommand, context: DecisionContext): Decision {
  const isAlreadyHeld = isOwnClaim(head, command, context);
  const roleFault = isAlreadyHeld ? ownClaimRoleFault(head, command) : null;
  if (isAlreadyHeld && roleFault === null) return returnOwnClaim(head, context);
  const refusal = claimRefusalOf(head, command, context, roleFault);
  if (refusal !== null) return refuseClaim(head, command, context, refusal);
  const builder = new DecisionBuilder(head, context);
  emitGrant(builder, command, context);
  const expires_at_ms = builder.head.claim?.expires_at_ms ?? null;
  const warnings = command.facts.edge?.warnings ?? [];
  const details = warnings.length === 0 ? { expires_at_ms } : { expires_at_ms, warnings };
  // If the lease is over before the commit, the claim is decided again: the deciding clock was far behind the store's.
  return builder.build('GRANTED', details, { not_after_ms: expires_at_ms });
}

/** Whether an agent requests a claim that it already holds in the same session. A closed session holds no claim. */
function isOwnClaim(
  head: Head,
  { resume, session_id, agent_id, facts }: ClaimCommand,
  context: DecisionContext,
): boolean {
  const { claim } = head;
  if (resume === undefined || claim === null || claim.session_id !== session_id) return false;
  // Several agents may share a session. No agent gets the work of another.
  if (claim.agent_id !== agent_id) return false;
  const takenBy = claim.principal ?? resume.session_principal;
  if (takenBy !== resume.principal || facts.is_session_closed) return false;
  const { now_ms, rules } = context;
  return isLive(head, now_ms, rules) && now_ms < lapsesAtMs(claim, rules);
}

/**
 * Why the caller does not get its claim back: its credential is limited to another role, so its result would be refused. Null
 * if the caller gets the claim back.
 */
function ownClaimRoleFault({ claim }: Head, { resume }: ClaimCommand): string | null {
  const fault = claimRoleFault(claim?.agent_role ?? null, resume?.agent_role ?? null);
  return fault === null
    ? null
    : `${fault} Claim it again with a credential of that role, or claim other work.`;
}

/**
 * Returns the existing grant: same generation, no event. By the store's clock, its lease must not have lapsed when the
 * decision is committed.
 */
function returnOwnClaim(head: Head, { rules }: DecisionContext): Decision {
  const not_after_ms = head.claim === null ? null : finiteOrNull(lapsesAtMs(head.claim, rules));
  return { ...succeedUnchanged(head, 'GRANTED'), not_after_ms };
}

/** `roleFault`: why the caller does not get back a claim that it holds; null in all other cases. */
function claimRefusalOf(
  head: Head,
  command: ClaimCommand,
  context: DecisionContext,
  roleFault: string | null,
): DetailedRefusal | null {
  const { now_ms, rules } = context;
  const refusal = grantRefusal(head, command, rules);
  if (refusal !== null) return refusal;
  const hold_reason = holdText(head, now_ms, rules);
  if (hold_reason !== null) return { code: 'DENIED_HELD', details: { hold_reason } };
  if (isLive(head, now_ms, rules)) {
    const details = { stale: isStale(head, now_ms, rules), expires_at_ms: head.claim?.expires_at_ms ?? null };
    return {
      code: 'DENIED_ACTIVE_CLAIM',
      details: roleFault === null ? details : { ...details, says: roleFault },
    };
  }
  return readinessRefusal(head, command, context);
}

/** Reasons to refuse a grant that apply whether or not the subject is claimed or on hold. */
export function grantRefusal(
  head: Head,
  { lease_seconds, facts }: GrantRequest,
  rules: Rules,
): DetailedRefusal | null {
  if (!isLeaseAllowed(lease_seconds, rules)) {
    return { code: 'INVALID_LEASE', details: { says: leaseBoundsText(lease_seconds, rules) } };
  }
  if (!facts.is_known_subject) return unknownSubjectRefusal(facts);
  if (facts.is_session_closed) return { code: 'SESSION_CLOSED' };
  if (facts.edge?.is_second_agent) return { code: 'DENIED_SINGLE_AGENT' };
  if (head.phase === 'COMPLETED') return { code: 'DENIED_COMPLETED' };
  return null;
}

/** Reasons to refuse a claim on a subject that is neither claimed nor on hold. */
export function readinessRefusal(
  head: Head,
  command: GrantRequest,
  context: DecisionContext,
): DetailedRefusal | null {
  const { facts } = command;
  if (facts.waiting_for.length > 0) {
    return { code: 'DENIED_DEPENDENCIES', details: { waiting_for: facts.waiting_for } };
  }
  const { edge } = facts;
  if (edge?.is_overlap_refused && edge.overlapping_claims.length > 0) {
    return { code: 'DENIED_PARALLEL', details: { shared: edge.overlapping_claims } };
  }
  if (head.retry_at_ms !== null && context.now_ms < head.retry_at_ms) {
    return { code: 'DENIED_BACKOFF', details: { retry_at_ms: head.retry_at_ms } };
  }
  if (isExhausted(head.generation, context.rules)) {
    return {
      code: 'DENIED_LIMIT',
      details: describeReachedLimit('max_generations_per_task', head.subject, context.rules),
    };
  }
  if (facts.reached_limit !== null) {
    return {
      code: 'DENIED_LIMIT',
      details: describeReachedLimit(facts.reached_limit, head.subject, context.rules),
    };
  }
  return null;
}

function unknownSubjectRefusal({ edge }: ClaimFacts): DetailedRefusal {
  const message = edge?.unknown_message ?? null;
  return message === null ? { code: 'UNKNOWN_TASK' } : { code: 'UNKNOWN_TASK', details: { says: message } };
}

/** Refusals caused by the request itself say nothing about the work, and are not recorded; all others are. */
const UNRECORDED_CODES = new Set<DecisionCode>(['INVALID_LEASE', 'UNKNOWN_TASK', 'SESSION_CLOSED']);

function refuseClaim(
  head: Head,
  command: ClaimCommand,
  context: DecisionContext,
  refusal: DetailedRefusal,
): Decision {
  const details = refusal.details ?? {};
  if (UNRECORDED_CODES.has(refusal.code)) return refuse(head, refusal.code, details);
  const [sharedClaim] = details.shared ?? [];
  const holdingClaim = isLive(head, context.now_ms, context.rules) ? head.claim : (sharedClaim ?? null);
  const refusalEvent = draftClaimEvent(
    head,
    'claim_refused',
    attributionOf(command, head.generation),
    {
      reason: refusal.code,
      current_generation: head.generation,
      ...(holdingClaim === null ? {} : { holding_agent: holdingClaim.agent_id }),
      ...(details.waiting_for === undefined ? {} : { waiting_for: details.waiting_for.slice(0, 20) }),
      ...(details.limit === undefined ? {} : { limit: details.limit }),
      ...(sharedClaim === undefined ? {} : { shared_modules: sharedClaim.shared_modules.slice(0, 20) }),
    },
    context.now_ms,
  );
  const not_after_ms = refusalEndsAtMs(head, refusal, context.rules);
  return { ...refuse(head, refusal.code, details, [refusalEvent]), not_after_ms };
}

/** Refuses a claim that would be granted on its own, because another claim of the same batch is refused. */
export const refuseWithBatch = (head: Head, command: ClaimCommand, context: DecisionContext): Decision =>
  refuseClaim(head, command, context, { code: 'DENIED_BATCH' });

/** Time from which the subject's own head no longer causes the refusal, even without an event; null if there is none. */
function refusalEndsAtMs(head: Head, { code, details }: DetailedRefusal, rules: Rules): number | null {
  if (code === 'DENIED_BACKOFF') return details?.retry_at_ms ?? null;
  if (code !== 'DENIED_ACTIVE_CLAIM' || head.claim === null) return null;
  return finiteOrNull(lapsesAtMs(head.claim, rules) + rules.skew_margin_ms);
}

/** Emits a grant. No other code increments a generation. */
export function emitGrant(builder: DecisionBuilder, command: GrantRequest, context: DecisionContext): void {
  const { head, at_ms } = builder;
  const attribution = attributionOf(command, nextGeneration(head.generation, context.rules));
  // A claim without a lease has no time limit: it is held until it is released.
  const { max_hold_seconds } = context.rules;
  const capMs =
    max_hold_seconds === null || command.lease_seconds === null ? null : at_ms + max_hold_seconds * 1000;
  const expiresAtMs = leaseEndMs(at_ms, command.lease_seconds, capMs);
  const payload: ClaimEventPayloads['granted'] = {
    previous_generation: head.generation,
    previous_state: head.claim?.state ?? 'NONE',
    lease_duration_seconds: command.lease_seconds,
    expires_at: expiresAtMs === null ? null : isoTime(expiresAtMs),
  };
  if (capMs !== null) payload.max_hold_until = isoTime(capMs);
  if (command.facts.inputs !== null) payload.inputs = command.facts.inputs;
  if (command.user_id !== null) payload.user_id = command.user_id;
  if (command.principal !== undefined) payload.principal = command.principal;
  if (command.metadata !== null) payload.metadata = command.metadata;
  builder.emit('granted', attribution, payload);
}

export function leaseEndMs(fromMs: number, leaseSeconds: number | null, capMs: number | null): number | null {
  if (leaseSeconds === null) return null;
  return Math.min(fromMs + leaseSeconds * 1000, capMs ?? Number.POSITIVE_INFINITY);
}

const attributionOf = (command: GrantRequest, generation: number): EventAttribution => ({
  agent_id: command.agent_id,
  session_id: command.session_id,
  agent_role: command.agent_role,
  request_id: command.request_id,
  generation,
});
