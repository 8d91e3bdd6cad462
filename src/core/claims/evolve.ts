import type { ClaimEventPayloads, ResultFields } from '../events/claim-payload-schemas.js';
import { type EventDraft, msOf } from '../events/envelope.js';
import { asClaimEvent } from '../events/known-event.js';
import { withoutUndefined } from '../without-undefined.js';
import type { LooseEventKind } from './claim-event-kinds.js';
import {
  type AcceptedResult,
  type ConvergenceEvidence,
  emptyHead,
  type Gate,
  type Head,
  type LastClaim,
  type ReleaseReason,
  type SubmittedResult,
} from './head.js';

type HeadChanges = Partial<Omit<Head, 'subject' | 'seq' | 'last_at_ms'>>;

/** Folds one event into a head. Replaying the events of a subject that have a seq yields its head. */
export function evolve(before: Head | null, event: EventDraft): Head {
  const head = before ?? emptyHead(event.subject ?? '');
  const atMs = msOf(event.timestamp);
  return { ...head, ...headChanges(head, event, atMs), seq: head.seq + 1, last_at_ms: atMs };
}

function headChanges(head: Head, event: EventDraft, at_ms: number): HeadChanges {
  const claimEvent = asClaimEvent(event);
  switch (claimEvent?.kind) {
    case 'granted':
      return onGranted(event, claimEvent.payload, at_ms);
    case 'renewed':
    case 'resumed':
      return { claim: renewedClaim(head, claimEvent.payload, at_ms) };
    case 'lost':
      return onLost(head, claimEvent.payload);
    case 'released':
      return onReleased(head, claimEvent.payload);
    case 'suspended':
      return onSuspended(head, claimEvent.payload, at_ms);
    case 'accepted':
    case 'adopted':
      return onCompleted(head, event, claimEvent.payload, at_ms);
    case 'escalated':
      return onEscalated(head, claimEvent.payload, at_ms);
    case 'reviewed':
      return onReviewed(head, claimEvent.payload, at_ms);
    case 'held': {
      const { reason, by } = claimEvent.payload;
      return { hold: { reason, by, at_ms } };
    }
    case 'unheld':
      return { hold: null, failures: 0, last_error: null, retry_at_ms: null };
    case 'reset':
      return onReset(head, claimEvent.payload);
    default:
      return noChanges(claimEvent?.kind);
  }
}

/**
 * The result of an event that changes nothing but the seq: a loose event, or an event type of a later version. A kind that
 * changes a head but has no case above does not compile, because the parameter accepts loose kinds only.
 */
const noChanges = (_: LooseEventKind | undefined): HeadChanges => ({});
const msOrNull = (iso: string | null | undefined): number | null => (iso == null ? null : msOf(iso));

function onGranted(event: EventDraft, payload: ClaimEventPayloads['granted'], atMs: number): HeadChanges {
  const claim: LastClaim = {
    state: 'ACTIVE',
    agent_id: event.agent_id,
    session_id: event.session_id ?? '',
    agent_role: event.agent_role ?? null,
    user_id: payload.user_id ?? null,
    ...(payload.principal === undefined ? {} : { principal: payload.principal }),
    request_id: event.request_id ?? null,
    claimed_at_ms: atMs,
    lease_seconds: payload.lease_duration_seconds,
    expires_at_ms: msOrNull(payload.expires_at),
    active_at_ms: atMs,
    max_hold_until_ms: msOrNull(payload.max_hold_until),
    suspended_until_ms: null,
    stale: false,
    release_reason: null,
    inputs: payload.inputs ?? null,
    metadata: payload.metadata ?? null,
  };
  return { generation: event.generation ?? 0, claim, gate: null, retry_at_ms: null };
}

function renewedClaim(head: Head, payload: ClaimEventPayloads['renewed'], atMs: number): LastClaim | null {
  if (head.claim === null) return null;
  return {
    ...head.claim,
    state: 'ACTIVE',
    lease_seconds: payload.lease_duration_seconds,
    expires_at_ms: msOrNull(payload.expires_at),
    active_at_ms: atMs,
    suspended_until_ms: null,
    stale: false,
    release_reason: null,
  };
}

function endedClaim(head: Head, state: 'EXPIRED' | 'RELEASED' | 'SUPERSEDED', release_reason: ReleaseReason) {
  return head.claim === null ? null : { ...head.claim, state, release_reason, suspended_until_ms: null };
}

function onLost(head: Head, payload: ClaimEventPayloads['lost']): HeadChanges {
  if (payload.disposition === 'held') {
    return { claim: head.claim === null ? null : { ...head.claim, stale: true } };
  }
  if (payload.cause === 'SUPERSEDED') {
    return { claim: endedClaim(head, 'SUPERSEDED', 'SUPERSEDED'), failures: 0, last_error: null };
  }
  return { claim: endedClaim(head, 'EXPIRED', 'EXPIRED'), failures: head.failures + 1, last_error: null };
}

function onReleased(head: Head, payload: ClaimEventPayloads['released']): HeadChanges {
  const claim = endedClaim(head, 'RELEASED', payload.reason);
  if (payload.reason === 'ERROR') {
    return {
      claim,
      // Each generation counts as one failure at most: a recorded expiry has already counted this one.
      failures: head.failures + (head.claim?.state === 'EXPIRED' ? 0 : 1),
      last_error: payload.message ?? null,
      retry_at_ms: msOrNull(payload.retry_at),
    };
  }
  // Closing a session, or releasing an expired claim, says nothing about the work: the failure count stays.
  const isNeutral = payload.reason === 'SESSION_CLOSED' || head.claim?.state === 'EXPIRED';
  const isForgiven = payload.reason === 'FORCED' || !isNeutral;
  return isForgiven ? { claim, failures: 0, last_error: null } : { claim };
}

function onSuspended(head: Head, payload: ClaimEventPayloads['suspended'], atMs: number): HeadChanges {
  if (head.claim === null) return {};
  const claim: LastClaim = {
    ...head.claim,
    state: 'SUSPENDED',
    suspended_until_ms: msOf(payload.until),
    stale: false,
    release_reason: null,
  };
  // A gate stays open until its generation ends: a suspension without a gate must not close it.
  const gate =
    payload.gate === undefined ? head.gate : openGate(head, { ...payload.gate, candidate: null }, atMs);
  return { claim, gate };
}

type OpenedGate = Pick<Gate, 'iteration' | 'candidate_sha256' | 'candidate' | 'failing'>;
const openGate = (
  { generation }: Head,
  { iteration, candidate_sha256, candidate, failing }: OpenedGate,
  opened_at_ms: number,
): Gate => ({
  generation,
  iteration,
  candidate_sha256,
  decision: null,
  reviewer: null,
  opened_at_ms,
  ...(failing === undefined ? {} : { failing }),
  candidate,
});

function onEscalated(head: Head, payload: ClaimEventPayloads['escalated'], atMs: number): HeadChanges {
  const { iteration, result_sha256: candidate_sha256 } = payload;
  return {
    ...onSuspended(head, { until: payload.until }, atMs),
    gate: openGate(head, { iteration, candidate_sha256, candidate: submittedResultOf(payload) }, atMs),
    // A late candidate reactivates its generation, so the expiry no longer counts as a failure.
    ...(head.claim?.state === 'EXPIRED' ? { failures: Math.max(head.failures - 1, 0) } : {}),
  };
}

function onReviewed(head: Head, payload: ClaimEventPayloads['reviewed'], atMs: number): HeadChanges {
  if (head.gate === null) return {};
  const gate: Gate = { ...head.gate, decision: payload.decision, reviewer: payload.reviewer };
  if (payload.expires_at === undefined) return { gate };
  const lease = {
    lease_duration_seconds: payload.lease_duration_seconds ?? null,
    expires_at: payload.expires_at,
  };
  return { gate, claim: renewedClaim(head, lease, atMs) };
}

function onCompleted(
  head: Head,
  event: EventDraft,
  payload: ClaimEventPayloads['accepted' | 'adopted'],
  atMs: number,
): HeadChanges {
  const result: AcceptedResult = {
    result_id: payload.result_id,
    generation: event.generation ?? head.generation,
    agent_id: event.agent_id,
    session_id: event.session_id ?? '',
    sha256: payload.result_sha256,
    work_product_ref: payload.work_product_ref,
    submitted_at_ms: atMs,
  };
  return {
    phase: 'COMPLETED',
    result,
    claim: endedClaim(head, 'RELEASED', 'COMPLETED'),
    hold: null,
    failures: 0,
    last_error: null,
    retry_at_ms: null,
  };
}

function onReset(head: Head, payload: ClaimEventPayloads['reset']): HeadChanges {
  return {
    phase: 'OPEN',
    epoch: payload.epoch,
    result: null,
    failures: 0,
    last_error: null,
    retry_at_ms: null,
    gate: null,
    claim: head.claim,
  };
}

export function submittedResultOf(fields: ResultFields): SubmittedResult {
  return withoutUndefined({
    result_id: fields.result_id,
    sha256: fields.result_sha256,
    size_bytes: fields.result_size_bytes,
    work_product_ref: fields.work_product_ref,
    data: fields.result_data,
    blob_sha256: fields.blob_sha256,
    metadata: fields.result_metadata,
    evidence: convergenceEvidence(fields),
  });
}

/**
 * Evidence of an edge result; undefined if there is none. Every escalation has an iteration, so an iteration alone is not
 * evidence.
 */
function convergenceEvidence(fields: ResultFields): ConvergenceEvidence | undefined {
  const { iteration, evaluators, convergence_type, context_hash } = fields;
  if (iteration === undefined) return undefined;
  const reportedFields = withoutUndefined({ evaluators, convergence_type, context_hash });
  return Object.keys(reportedFields).length === 0 ? undefined : { iteration, ...reportedFields };
}
