import { checkFilesText, omittedChecksText } from '../../engine/guarded-check-files.js';
import {
  type ClaimEventPayloads,
  FAILING_NAMES_MAX,
  type ResultFields,
} from '../../events/claim-payload-schemas.js';
import { isoTime } from '../../events/envelope.js';
import { PATH_BYTES_MAX } from '../../methodology/definition/asset-path.js';
import { REVIEW_CAUSES } from '../../methodology/definition/authority.js';
import { toolConfigText } from '../../methodology/definition/guarded-paths.js';
import { ownValue } from '../../own-value.js';
import type {
  ClaimHandle,
  Decision,
  DecisionCode,
  DecisionContext,
  DecisionDetails,
  PastGrant,
  SubjectCommand,
} from '../commands.js';
import type { Gate, Head, LastClaim, SubmittedResult } from '../head.js';
import { canTakeOver, finiteOrNull, isLapsed, lapsesAtMs } from '../lease.js';
import {
  DecisionBuilder,
  draftClaimEvent,
  type EventAttribution,
  holderAttribution,
  refuse,
  succeedUnchanged,
  withExpiryBound,
} from './decision-builder.js';
import { isHolderHandle } from './handle.js';
import { withSignOfLife } from './sign-of-life.js';

type SubmitCommand = SubjectCommand<'submit'>;

/**
 * Decides a submission. If several refusals apply, the first is given; the generation is checked first, then the phase,
 * then the holder.
 */
export function decideSubmit(head: Head, command: SubmitCommand, context: DecisionContext): Decision {
  if (isAlreadyAccepted(head, command, context)) {
    return succeedUnchanged(head, 'ACCEPTED', { result: command.result, work_lost: false });
  }
  const code = refusalCodeOf(head, command, context);
  if (code !== null) return refuseSubmission(head, command, context, code);
  if (needsHumanReview(head, command)) return escalate(head, command, context);
  const late = isLapsed(head, context.now_ms, context.rules);
  const accepted = new DecisionBuilder(head, context)
    .emit('accepted', holderAttribution(head), {
      outcome: 'ACCEPTED',
      late,
      metadata: processingTime(head.claim, context),
      ...resultFields(command.result),
    })
    .build('ACCEPTED', { late, result: command.result, work_lost: false }, leaseCommitBound(head, context));
  if (command.facts.authority !== 'warn') return accepted;
  const warning = {
    action: 'warn' as const,
    reason: authorityReason(command),
    iteration: command.facts.iteration,
    result_sha256: command.result.sha256,
  };
  const looseEvent = draftClaimEvent(head, 'warned', holderAttribution(head), warning, context.now_ms);
  return { ...accepted, loose_events: [looseEvent] };
}

const authorityReason = ({ facts }: SubmitCommand): string =>
  facts.convergence?.authority_reason ?? 'outside_role_authority';

/** Commit bound of a submission: if late results are refused, the commit itself must not be late. */
function leaseCommitBound(head: Head, context: DecisionContext): { not_after_ms: number | null } {
  const isStrict = context.rules.late_submit === 'reject' && context.rules.stale_policy === 'takeover';
  return { not_after_ms: isStrict ? finiteOrNull(lapsesAtMs(head.claim as LastClaim, context.rules)) : null };
}

/**
 * Whether this command repeats the accepted submission, for example after a lost reply. It then succeeds without a new
 * event.
 */
function isAlreadyAccepted(head: Head, command: SubmitCommand, context: DecisionContext): boolean {
  return (
    head.phase === 'COMPLETED' &&
    head.result !== null &&
    command.handle.generation === head.generation &&
    head.result.generation === head.generation &&
    head.result.sha256 === command.result.sha256 &&
    isHolderHandle(head, command.handle, context)
  );
}

function refusalCodeOf(head: Head, command: SubmitCommand, context: DecisionContext): DecisionCode | null {
  const { handle, result, facts } = command;
  const { claim } = head;
  if (head.generation === 0 || claim === null) return 'NO_CLAIM';
  if (handle.generation > head.generation) return 'FUTURE_GENERATION';
  if (handle.generation < head.generation) return 'STALE_GENERATION';
  if (head.phase === 'COMPLETED') return 'TASK_ALREADY_COMPLETED';
  if (claim.state === 'RELEASED' || claim.state === 'SUPERSEDED') return 'NO_CLAIM';
  if (!isHolderHandle(head, handle, context)) return 'SESSION_MISMATCH';
  if (result.size_bytes > context.rules.max_result_size_bytes) return 'RESULT_TOO_LARGE';
  if (isTooLate(head, context)) return 'LEASE_EXPIRED';
  if (claim.inputs !== facts.inputs) return 'DEPENDENCY_CHANGED';
  if (facts.authority === 'reject' && !isApproved(head, command)) return 'OUTSIDE_AUTHORITY';
  // Checks precede the review: a result that fails a check is not put before a person.
  if (facts.convergence !== undefined && facts.convergence.failing.length > 0) return 'NOT_CONVERGED';
  return null;
}

/**
 * Whether the result is refused because the lease has lapsed. Under the stale policy `hold` it never is, because the end of
 * a lease does not let another agent take over.
 */
function isTooLate(head: Head, context: DecisionContext): boolean {
  if (context.rules.late_submit === 'accept' || context.rules.stale_policy === 'hold') return false;
  return isLapsed(head, context.now_ms, context.rules);
}

/**
 * Whether this submission must be reviewed. If the role lacks authority, or the edge requires a person, exactly this
 * candidate must be approved under this generation. A gate of this generation requires the approval in every case, so that
 * submitting a different candidate does not bypass the gate.
 */
function needsHumanReview(head: Head, command: SubmitCommand): boolean {
  const { authority, convergence } = command.facts;
  if (currentGate(head) === null) return authority === 'escalate' || convergence?.needs_human_review === true;
  return !isApproved(head, command);
}

const currentGate = ({ gate, generation }: Head): Gate | null =>
  gate?.generation === generation ? gate : null;

function isApproved(head: Head, command: SubmitCommand): boolean {
  const gate = currentGate(head);
  return gate?.decision === 'APPROVED' && gate.candidate_sha256 === command.result.sha256;
}

function escalationReason(command: SubmitCommand): string {
  const { authority, convergence } = command.facts;
  if (authority === 'escalate') return authorityReason(command);
  return convergence?.needs_human_review === true ? 'human_review_required' : 'review_pending';
}

type EscalationPaths = Pick<ClaimEventPayloads['escalated'], 'paths' | 'path_count'>;

/** Maximum number of paths or checks listed in an event. */
const NAMES_LISTED_MAX = 20;

function escalationPaths(command: SubmitCommand): EscalationPaths {
  const paths = command.facts.convergence?.authority_paths ?? [];
  if (paths.length === 0) return {};
  const listedPaths = paths.slice(0, NAMES_LISTED_MAX).map((path) => path.slice(0, PATH_BYTES_MAX));
  return { paths: listedPaths, path_count: paths.length };
}

const pathsText = (command: SubmitCommand, paths: readonly string[], count?: number): string =>
  authorityReason(command) === 'changes_evaluators'
    ? checkFilesText(paths, count)
    : toolConfigText(paths, count);

function escalationCause(command: SubmitCommand, { paths, path_count }: EscalationPaths): string | null {
  if (paths !== undefined) return pathsText(command, paths, path_count);
  const reason = escalationReason(command);
  if (reason === 'omits_checks') return omittedChecksText(omittedChecksOf(command));
  return ownValue<string>(REVIEW_CAUSES, reason) ?? null;
}

const omittedChecksOf = ({ facts }: SubmitCommand): readonly string[] =>
  facts.convergence?.omitted_checks ?? [];

function escalate(head: Head, command: SubmitCommand, context: DecisionContext): Decision {
  const listedPaths = escalationPaths(command);
  const cause = escalationCause(command, listedPaths);
  const explanation = cause === null ? {} : { says: `A person must review this result: ${cause}.` };
  const details = { result: command.result, work_lost: false, ...explanation };
  if (isAwaitingReview(head, command, context)) return refuse(head, 'ESCALATED', details);
  // An escalation makes the claim live again. This is not allowed once `max_hold_seconds` is over.
  const capMs = head.claim?.max_hold_until_ms ?? Number.POSITIVE_INFINITY;
  if (context.now_ms >= capMs) return refuseSubmission(head, command, context, 'LEASE_EXPIRED');
  // A late holder has lost its permit, and a claim that waits for a person needs a permit.
  const isLate = canTakeOver(head, context.now_ms, context.rules);
  if (isLate && command.facts.is_permit_limit_reached)
    return refuseSubmission(head, command, context, 'LEASE_EXPIRED');
  const builder = new DecisionBuilder(head, context);
  builder.emit('escalated', holderAttribution(head), {
    ...resultFields(command.result),
    reason: escalationReason(command),
    iteration: command.facts.iteration,
    ...listedPaths,
    ...(escalationReason(command) === 'omits_checks'
      ? { omitted_checks: omittedChecksOf(command).slice(0, NAMES_LISTED_MAX) }
      : {}),
    until: isoTime(builder.at_ms + context.rules.suspend_max_seconds * 1000),
  });
  const bound = isLate ? leaseCommitBound(head, context) : permitCommitBound(head, context);
  return { ...builder.build('ESCALATED', details, bound), ok: false };
}

/**
 * Commit bound of an escalation whose holder still has its permit: the permit must also be valid at the commit. If it no
 * longer is, the escalation is decided again and acquires a new permit.
 */
function permitCommitBound(head: Head, context: DecisionContext): { not_after_ms: number | null } {
  const leaseBound = leaseCommitBound(head, context);
  if (leaseBound.not_after_ms !== null) return leaseBound;
  const { rules } = context;
  return { not_after_ms: finiteOrNull(lapsesAtMs(head.claim as LastClaim, rules) + rules.skew_margin_ms) };
}

/** Whether the same candidate is already under review and its deadline has not passed. */
function isAwaitingReview(head: Head, command: SubmitCommand, context: DecisionContext): boolean {
  const { gate, claim } = head;
  if (gate === null || gate.decision !== null || claim?.state !== 'SUSPENDED') return false;
  return gate.candidate_sha256 === command.result.sha256 && !canTakeOver(head, context.now_ms, context.rules);
}

const WORK_LOST_CODES = new Set<DecisionCode>([
  'STALE_GENERATION',
  'NO_CLAIM',
  'SESSION_MISMATCH',
  'LEASE_EXPIRED',
  'DEPENDENCY_CHANGED',
  'TASK_ALREADY_COMPLETED',
]);

/**
 * Refuses a submission and records it. Work that is lost under a valid grant is parked (stored under its result id, for a later
 * adoption), unless the agent has the maximum of parked results here. A refused submission is a sign of life if the holder sent
 * it; otherwise it changes nothing.
 */
function refuseSubmission(
  head: Head,
  command: SubmitCommand,
  context: DecisionContext,
  code: DecisionCode,
): Decision {
  const work_lost = WORK_LOST_CODES.has(code);
  const grant = verifiedGrant(head, command.handle, command.facts.past_grant, context);
  const parked = work_lost && grant !== null && code !== 'SESSION_MISMATCH' && !command.facts.is_parking_full;
  const { failing = null, ...otherDetails } = refusalDetails(command, context, code);
  const rejectionEvent = draftClaimEvent(
    head,
    'result_refused',
    grant === null ? senderAttribution(head, command) : { ...grant, request_id: null },
    {
      submitted_generation: command.handle.generation,
      current_generation: head.generation,
      rejection_reason: code,
      work_lost,
      parked,
      ...(grant === null ? { verified: false } : {}),
      ...(failing === null ? {} : { failing: failing.slice(0, FAILING_NAMES_MAX).map(({ name }) => name) }),
      metadata: { result_size_bytes: command.result.size_bytes, ...processingTime(grant, context) },
      ...refusedResultFields(command.result, parked),
    },
    context.now_ms,
  );
  const details = {
    work_lost,
    parked: parked ? command.result.result_id : null,
    ...(failing === null ? {} : { failing }),
    ...otherDetails,
  };
  const refusal = refuse(head, code, details, [rejectionEvent]);
  if (code === 'LEASE_EXPIRED') return withExpiryBound(refusal, context);
  const isHolder = grant !== null && grant.generation === head.generation;
  return isHolder ? withSignOfLife(refusal, context) : refusal;
}

/** The attribution of a refusal to a sender without a valid handle. Its session id is unverified. */
const senderAttribution = (head: Head, { handle, sender }: SubmitCommand): EventAttribution => ({
  agent_id: sender,
  session_id: handle.session_id,
  agent_role: null,
  generation: head.generation,
});

function processingTime(grant: Pick<LastClaim, 'claimed_at_ms'> | null, { now_ms }: DecisionContext) {
  if (grant === null) return {};
  return { processing_time_seconds: Math.max(0, now_ms - grant.claimed_at_ms) / 1000 };
}

/**
 * The result fields of a refusal event. A result that is not parked is recorded only by its id, digest, size and reference,
 * without its content.
 */
function refusedResultFields(result: SubmittedResult, isParked: boolean): ResultFields {
  const { evidence: _, ...withoutEvidence } = result;
  return isParked ? resultFields(result) : resultFields(withoutEvidence, false);
}

/** The details of a refusal besides its code. */
function refusalDetails(
  { facts, result }: SubmitCommand,
  { rules }: DecisionContext,
  code: DecisionCode,
): Partial<Pick<DecisionDetails, 'failing' | 'says'>> {
  if (code === 'NOT_CONVERGED') return { failing: facts.convergence?.failing ?? [] };
  if (code !== 'RESULT_TOO_LARGE') return {};
  const says = `The result has ${result.size_bytes} bytes, and max_result_size_bytes is ${rules.max_result_size_bytes}.`;
  return { says };
}

/** The grant that the handle names; null if the handle does not match it. */
export function verifiedGrant(
  head: Head,
  handle: ClaimHandle,
  pastGrant: PastGrant | null,
  context: DecisionContext,
): PastGrant | null {
  const grant = (handle.generation === head.generation ? currentGrant(head) : null) ?? pastGrant;
  if (grant === null || grant.session_id !== handle.session_id) return null;
  return handle.claim_id === null || handle.claim_id === context.claimIdOf(grant) ? grant : null;
}

// Hot path: a spread with a field that the object does not have takes V8 a microsecond or two.
function currentGrant({ claim, generation }: Head): PastGrant | null {
  if (claim === null) return null;
  const { agent_id, session_id, agent_role, request_id, claimed_at_ms } = claim;
  return { agent_id, session_id, agent_role, request_id, claimed_at_ms, generation };
}

export function resultFields(result: SubmittedResult, hasContent = true): ResultFields {
  const fields: ResultFields = {
    result_id: result.result_id,
    result_sha256: result.sha256,
    result_size_bytes: result.size_bytes,
    work_product_ref: result.work_product_ref,
  };
  if (hasContent && result.data !== undefined) fields.result_data = result.data;
  if (hasContent && result.blob_sha256 !== undefined) fields.blob_sha256 = result.blob_sha256;
  if (hasContent && result.metadata !== undefined) fields.result_metadata = result.metadata;
  return result.evidence === undefined ? fields : { ...fields, ...result.evidence };
}
