import { isoTime } from '../../events/envelope.js';
import type { ClaimCommand, ClaimFacts, Code, Context, Decision, DecisionDetails } from '../commands.js';
import type { Head } from '../head.js';
import { finiteOrNull, holdReason, lapsesAtMs, live, stale } from '../lease.js';
import type { Payloads } from '../payloads.js';
import type { Rules } from '../policy.js';
import { type Actor, note, refuse, Telling, whileTrue } from './tell.js';

type Refusal = { code: Code; details?: DecisionDetails };

/** First match wins; the order is that of `CLAIM_CODES`. */
export function decideClaim(head: Head, command: ClaimCommand, ctx: Context): Decision {
  const refusal = refusalOf(head, command, ctx);
  if (refusal !== null) return denied(head, command, ctx, refusal);
  const telling = new Telling(head, ctx);
  tellGrant(telling, command, ctx);
  const expires_at_ms = telling.head.claim?.expires_at_ms ?? null;
  // A grant that would be over when it is committed was decided by a clock far behind the store's.
  const warnings = command.facts.edge?.warnings ?? [];
  const details = warnings.length === 0 ? { expires_at_ms } : { expires_at_ms, warnings };
  return telling.done('GRANTED', details, { not_after_ms: expires_at_ms });
}

export function refusalOf(head: Head, command: Omit<ClaimCommand, 'type'>, ctx: Context): Refusal | null {
  const { facts } = command;
  const { now_ms, rules } = ctx;
  if (!leaseAllowed(command.lease_seconds, rules)) return { code: 'INVALID_LEASE' };
  if (!facts.known) return unknown(facts);
  if (facts.session_closed) return { code: 'SESSION_CLOSED' };
  if (facts.edge?.second_agent) return { code: 'DENIED_SINGLE_AGENT' };
  if (head.phase === 'COMPLETED') return { code: 'DENIED_COMPLETED' };
  const hold_reason = holdReason(head, now_ms, rules);
  if (hold_reason !== null) return { code: 'DENIED_HELD', details: { hold_reason } };
  if (live(head, now_ms, rules)) {
    const details = { stale: stale(head, now_ms, rules), expires_at_ms: head.claim?.expires_at_ms ?? null };
    return { code: 'DENIED_ACTIVE_CLAIM', details };
  }
  return unready(head, command, ctx);
}

/** Nobody holds it; it may still not be the time. */
export function unready(head: Head, command: Omit<ClaimCommand, 'type'>, ctx: Context): Refusal | null {
  const { facts } = command;
  if (facts.waiting_for.length > 0) {
    return { code: 'DENIED_DEPENDENCIES', details: { waiting_for: facts.waiting_for } };
  }
  const { edge } = facts;
  if (edge?.enforced && edge.shared.length > 0) {
    return { code: 'DENIED_PARALLEL', details: { shared: edge.shared } };
  }
  if (head.retry_at_ms !== null && ctx.now_ms < head.retry_at_ms) {
    return { code: 'DENIED_BACKOFF', details: { retry_at_ms: head.retry_at_ms } };
  }
  if (head.generation >= ctx.rules.max_generations_per_task) {
    return { code: 'DENIED_LIMIT', details: { limit: 'max_generations_per_task' } };
  }
  if (facts.full !== null) return { code: 'DENIED_LIMIT', details: { limit: facts.full } };
  return null;
}

export function unknown({ edge }: ClaimFacts): Refusal {
  const says = edge?.unknown_says ?? null;
  return says === null ? { code: 'UNKNOWN_TASK' } : { code: 'UNKNOWN_TASK', details: { says } };
}

export function leaseAllowed(lease_seconds: number | null, rules: Rules): boolean {
  if (lease_seconds === null) return true;
  return (
    lease_seconds >= rules.min_lease_duration_seconds && lease_seconds <= rules.max_lease_duration_seconds
  );
}

/** Codes about the request itself leave no trace; the rest are written down once per agent and generation. */
const UNRECORDED: ReadonlySet<Code> = new Set<Code>(['INVALID_LEASE', 'UNKNOWN_TASK', 'SESSION_CLOSED']);

function denied(head: Head, command: ClaimCommand, ctx: Context, refusal: Refusal): Decision {
  const details = refusal.details ?? {};
  if (UNRECORDED.has(refusal.code)) return refuse(head, refusal.code, details);
  const [sharing] = details.shared ?? [];
  const holds = live(head, ctx.now_ms, ctx.rules) ? head.claim : (sharing ?? null);
  const rejected = note(
    head,
    'claim_denied',
    actorOf(command, head.generation),
    {
      reason: refusal.code,
      current_generation: head.generation,
      ...(holds === null ? {} : { holding_agent: holds.agent_id }),
      ...(details.waiting_for === undefined ? {} : { waiting_for: details.waiting_for.slice(0, 20) }),
      ...(details.limit === undefined ? {} : { limit: details.limit }),
      ...(sharing === undefined ? {} : { shared_modules: sharing.shared_modules.slice(0, 20) }),
    },
    ctx,
  );
  return whileTrue(refuse(head, refusal.code, details, [rejected]), {
    not_after_ms: endsAtMs(head, refusal, ctx.rules),
  });
}

/** When a refusal ends by time alone; null where it does not. */
function endsAtMs(head: Head, { code, details }: Refusal, rules: Rules): number | null {
  if (code === 'DENIED_BACKOFF') return details?.retry_at_ms ?? null;
  if (code !== 'DENIED_ACTIVE_CLAIM' || head.claim === null) return null;
  return finiteOrNull(lapsesAtMs(head.claim, rules) + rules.skew_margin_ms);
}

/** The only place where a generation grows. */
export function tellGrant(telling: Telling, command: Omit<ClaimCommand, 'type'>, ctx: Context): void {
  const { head, at_ms } = telling;
  const actor = actorOf(command, head.generation + 1);
  // A claim without a lease is held until somebody gives it back: no time ends it.
  const { max_hold_seconds } = ctx.rules;
  const cap_ms =
    max_hold_seconds === null || command.lease_seconds === null ? null : at_ms + max_hold_seconds * 1000;
  const expires_at_ms = leaseEndMs(at_ms, command.lease_seconds, cap_ms);
  const payload: Payloads['granted'] = {
    previous_generation: head.generation,
    previous_state: head.claim?.state ?? 'NONE',
    lease_duration_seconds: command.lease_seconds,
    expires_at: expires_at_ms === null ? null : isoTime(expires_at_ms),
  };
  if (cap_ms !== null) payload.max_hold_until = isoTime(cap_ms);
  if (command.facts.inputs !== null) payload.inputs = command.facts.inputs;
  if (command.user_id !== null) payload.user_id = command.user_id;
  if (command.metadata !== null) payload.metadata = command.metadata;
  telling.tell('granted', actor, payload);
}

export function leaseEndMs(
  from_ms: number,
  lease_seconds: number | null,
  cap_ms: number | null,
): number | null {
  if (lease_seconds === null) return null;
  return Math.min(from_ms + lease_seconds * 1000, cap_ms ?? Number.POSITIVE_INFINITY);
}

const actorOf = (command: Omit<ClaimCommand, 'type'>, generation: number): Actor => ({
  agent_id: command.agent_id,
  session_id: command.session_id,
  agent_role: command.agent_role,
  request_id: command.request_id,
  generation,
});
