import { type EventDraft, isoTime } from '../../events/envelope.js';
import { PATH_BYTES_MAX } from '../../graph/asset-path.js';
import { commandingSentence } from '../../graph/guarded-paths.js';
import type { Code, Context, Decision, PastGrant, SubmitCommand } from '../commands.js';
import type { Gate, Head, HeldClaim, SubmittedResult } from '../head.js';
import { finiteOrNull, lapsed, lapsesAtMs, takeable } from '../lease.js';
import type { Payloads, ResultFields } from '../payloads.js';
import { isHolders } from './handle.js';
import { holder, note, refuse, replay, Telling, tooLate } from './tell.js';

/** First match wins: generation before phase, phase before holder. */
export function decideSubmit(head: Head, command: SubmitCommand, ctx: Context): Decision {
  if (acceptedBefore(head, command, ctx)) {
    return replay(head, 'ACCEPTED', { result: command.result, work_lost: false });
  }
  const code = refusalOf(head, command, ctx);
  if (code !== null) return refused(head, command, ctx, code);
  if (needsHuman(head, command)) return escalate(head, command, ctx);
  const late = lapsed(head, ctx.now_ms, ctx.rules);
  const accepted = new Telling(head, ctx)
    .tell('accepted', holder(head), { outcome: 'ACCEPTED', late, ...resultFields(command.result) })
    .done('ACCEPTED', { late, result: command.result, work_lost: false }, strictBound(head, ctx));
  return command.facts.authority === 'warn'
    ? { ...accepted, notes: [warning(head, command, ctx)] }
    : accepted;
}

/** Beyond the role's authority, where the project only wants to know of it. */
function warning(head: Head, command: SubmitCommand, ctx: Context): EventDraft {
  const said: Payloads['warned'] = {
    action: 'warn',
    reason: authorityReason(command),
    iteration: command.facts.iteration,
    result_sha256: command.result.sha256,
  };
  return note(head, 'warned', holder(head), said, ctx);
}

const authorityReason = ({ facts }: SubmitCommand): string =>
  facts.convergence?.authority_reason ?? 'outside_role_authority';

/** Where late work is refused, the store must see to it that the commit is not late either. */
function strictBound(head: Head, ctx: Context): { not_after_ms: number | null } {
  const strict = ctx.rules.late_submit === 'reject' && ctx.rules.stale_policy === 'takeover';
  return { not_after_ms: strict ? finiteOrNull(lapsesAtMs(head.claim as HeldClaim, ctx.rules)) : null };
}

/** The winner's repeated submission, its first reply lost, is success and nothing more. */
function acceptedBefore(head: Head, command: SubmitCommand, ctx: Context): boolean {
  return (
    head.phase === 'COMPLETED' &&
    head.result !== null &&
    command.handle.generation === head.generation &&
    head.result.generation === head.generation &&
    head.result.sha256 === command.result.sha256 &&
    isHolders(head, command.handle, ctx)
  );
}

function refusalOf(head: Head, command: SubmitCommand, ctx: Context): Code | null {
  const { handle, result, facts } = command;
  const { claim } = head;
  if (head.generation === 0 || claim === null) return 'NO_CLAIM';
  if (handle.generation > head.generation) return 'FUTURE_GENERATION';
  if (handle.generation < head.generation) return 'STALE_GENERATION';
  if (head.phase === 'COMPLETED') return 'TASK_ALREADY_COMPLETED';
  if (claim.state === 'RELEASED' || claim.state === 'SUPERSEDED') return 'NO_CLAIM';
  if (!isHolders(head, handle, ctx)) return 'SESSION_MISMATCH';
  if (result.size_bytes > ctx.rules.max_result_size_bytes) return 'RESULT_TOO_LARGE';
  if (isTooLate(head, ctx)) return 'LEASE_EXPIRED';
  if (claim.inputs !== facts.inputs) return 'DEPENDENCY_CHANGED';
  if (facts.authority === 'reject' && !isApproved(head, command)) return 'OUTSIDE_AUTHORITY';
  // Checks come before humans: nobody is asked to look at what a program refuses.
  if (facts.convergence !== undefined && facts.convergence.failing.length > 0) return 'NOT_CONVERGED';
  return null;
}

/** Under `hold` nobody else can have begun, so the holder's result always stands. */
function isTooLate(head: Head, ctx: Context): boolean {
  if (ctx.rules.late_submit === 'accept' || ctx.rules.stale_policy === 'hold') return false;
  return lapsed(head, ctx.now_ms, ctx.rules);
}

/**
 * A role without authority, and an edge that asks for a human, need the approval of exactly this candidate, under this
 * generation. So does everybody once a human was asked: whoever opens a gate cannot walk around it with another
 * candidate.
 */
function needsHuman(head: Head, command: SubmitCommand): boolean {
  const { authority, convergence } = command.facts;
  if (gateOf(head) === null) return authority === 'escalate' || convergence?.needs_human === true;
  return !isApproved(head, command);
}

const gateOf = ({ gate, generation }: Head): Gate | null => (gate?.generation === generation ? gate : null);

function isApproved(head: Head, command: SubmitCommand): boolean {
  const gate = gateOf(head);
  return gate?.decision === 'APPROVED' && gate.candidate_sha256 === command.result.sha256;
}

function escalationReason(command: SubmitCommand): string {
  const { authority, convergence } = command.facts;
  if (authority === 'escalate') return authorityReason(command);
  return convergence?.needs_human === true ? 'human_review_required' : 'review_pending';
}

/** How many paths an event names; the result has all of them. */
const PATHS_NAMED_MAX = 20;

function pathsFor(command: SubmitCommand): Pick<Payloads['escalated'], 'paths' | 'path_count'> {
  const paths = command.facts.convergence?.authority_paths ?? [];
  if (paths.length === 0) return {};
  const named = paths.slice(0, PATHS_NAMED_MAX).map((path) => path.slice(0, PATH_BYTES_MAX));
  return { paths: named, path_count: paths.length };
}

function escalate(head: Head, command: SubmitCommand, ctx: Context): Decision {
  const { paths, path_count } = pathsFor(command);
  const says =
    paths === undefined ? {} : { says: `A human is asked: ${commandingSentence(paths, path_count)}.` };
  const details = { result: command.result, work_lost: false, ...says };
  if (waitsForHuman(head, command, ctx)) return refuse(head, 'ESCALATED', details);
  // To wait for a human is to hold the claim again, and nobody holds one beyond its `max_hold`.
  const cap_ms = head.claim?.max_hold_until_ms ?? Number.POSITIVE_INFINITY;
  if (ctx.now_ms >= cap_ms) return refused(head, command, ctx, 'LEASE_EXPIRED');
  // Who comes late has lost its place, and to wait for a human takes one again.
  const is_late = takeable(head, ctx.now_ms, ctx.rules);
  if (is_late && command.facts.no_room) return refused(head, command, ctx, 'LEASE_EXPIRED');
  const telling = new Telling(head, ctx);
  telling.tell('escalated', holder(head), {
    ...resultFields(command.result),
    reason: escalationReason(command),
    iteration: command.facts.iteration,
    ...pathsFor(command),
    until: isoTime(telling.at_ms + ctx.rules.suspend_max_seconds * 1000),
  });
  const decision = telling.done(
    'ESCALATED',
    details,
    is_late ? strictBound(head, ctx) : placeBound(head, ctx),
  );
  return { ...decision, ok: false };
}

/** Who has its place when this is decided must still have it at the commit, or else ask for one. */
function placeBound(head: Head, ctx: Context): { not_after_ms: number | null } {
  const strict = strictBound(head, ctx);
  if (strict.not_after_ms !== null) return strict;
  const { rules } = ctx;
  return { not_after_ms: finiteOrNull(lapsesAtMs(head.claim as HeldClaim, rules) + rules.skew_margin_ms) };
}

/** The same candidate is before a human already, and still in time. */
function waitsForHuman(head: Head, command: SubmitCommand, ctx: Context): boolean {
  const { gate, claim } = head;
  if (gate === null || gate.decision !== null || claim?.state !== 'SUSPENDED') return false;
  return gate.candidate_sha256 === command.result.sha256 && !takeable(head, ctx.now_ms, ctx.rules);
}

const WORK_LOST: ReadonlySet<Code> = new Set<Code>([
  'STALE_GENERATION',
  'NO_CLAIM',
  'SESSION_MISMATCH',
  'LEASE_EXPIRED',
  'DEPENDENCY_CHANGED',
  'TASK_ALREADY_COMPLETED',
]);

/** Refused work that came under a handle once granted is parked: kept, named, and open to adoption. */
function refused(head: Head, command: SubmitCommand, ctx: Context, code: Code): Decision {
  const work_lost = WORK_LOST.has(code);
  const grant = grantOf(head, command, ctx);
  if (!work_lost || grant === null || code === 'SESSION_MISMATCH') {
    const failing = code === 'NOT_CONVERGED' ? { failing: command.facts.convergence?.failing ?? [] } : {};
    return refuse(head, code, { work_lost, parked: null, ...failing });
  }
  const parked = !command.facts.parking_full;
  const rejected = note(
    head,
    'result_denied',
    // The grant's request is not this submission's.
    { ...grant, request_id: null },
    {
      submitted_generation: command.handle.generation,
      current_generation: head.generation,
      rejection_reason: code,
      work_lost,
      parked,
      metadata: { result_size_bytes: command.result.size_bytes },
      ...resultFields(command.result, parked),
    },
    ctx,
  );
  const notes = parked ? [rejected] : [];
  const refusal = refuse(head, code, { work_lost, parked: parked ? command.result.result_id : null }, notes);
  return code === 'LEASE_EXPIRED' ? tooLate(refusal, ctx) : refusal;
}

/** Who was granted what the handle names, if the handle is really theirs. */
function grantOf(head: Head, command: SubmitCommand, ctx: Context): PastGrant | null {
  const { handle, facts } = command;
  const current = handle.generation === head.generation ? head.claim : null;
  const grant = current === null ? facts.past_grant : { ...current, generation: head.generation };
  if (grant === null || grant.session_id !== handle.session_id) return null;
  if (handle.claim_id !== null && handle.claim_id !== ctx.claimIdOf(grant)) return null;
  const { generation, agent_id, session_id, agent_role, request_id } = grant;
  return { generation, agent_id, session_id, agent_role, request_id };
}

export function resultFields(result: SubmittedResult, withBody = true): ResultFields {
  const fields: ResultFields = {
    result_id: result.result_id,
    result_sha256: result.sha256,
    result_size_bytes: result.size_bytes,
    work_product_ref: result.work_product_ref,
  };
  if (withBody && result.data !== undefined) fields.result_data = result.data;
  if (withBody && result.blob_sha256 !== undefined) fields.blob_sha256 = result.blob_sha256;
  return { ...fields, ...result.evidence };
}
