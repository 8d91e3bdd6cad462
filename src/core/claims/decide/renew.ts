import { isoTime } from '../../events/envelope.js';
import type { Decision, DecisionContext, RenewCommand, ResumeCommand, SuspendCommand } from '../commands.js';
import type { Head, HeldClaim } from '../head.js';
import { finiteOrNull, isLapsed, lapsesAtMs } from '../lease.js';
import { isLeaseAllowed, leaseEndMs } from './claim.js';
import { DecisionBuilder, holderActor, refuse, replay, withExpiryBound } from './decision-builder.js';
import { handleFault } from './handle.js';

export function decideRenew(head: Head, command: RenewCommand, ctx: DecisionContext): Decision {
  if (!isLeaseAllowed(command.lease_seconds, ctx.rules)) return refuse(head, 'INVALID_LEASE');
  const fault = handleFault(head, command.handle, ctx);
  if (fault !== null) return refuse(head, fault);
  const claim = head.claim as HeldClaim;
  if (isLapsed(head, ctx.now_ms, ctx.rules)) return withExpiryBound(refuse(head, 'ALREADY_EXPIRED'), ctx);
  // The lease of a suspended claim does not run: there is nothing to renew, and the request is valid.
  if (claim.state === 'SUSPENDED') {
    return replay(head, 'RENEWED', { expires_at_ms: claim.suspended_until_ms });
  }
  if (claim.expires_at_ms === null) return replay(head, 'RENEWED', { expires_at_ms: null });
  const builder = new DecisionBuilder(head, ctx);
  const leaseSeconds = command.lease_seconds ?? claim.lease_seconds;
  const untilMs = leaseEndMs(builder.at_ms, leaseSeconds, claim.max_hold_until_ms);
  // A renewal never shortens the lease.
  const expires_at_ms = Math.max(claim.expires_at_ms, untilMs ?? claim.expires_at_ms);
  builder.emit('renewed', holderActor(head), {
    lease_duration_seconds: leaseSeconds,
    expires_at: isoTime(expires_at_ms),
  });
  return builder.build(
    'RENEWED',
    { expires_at_ms },
    { not_after_ms: finiteOrNull(lapsesAtMs(claim, ctx.rules)) },
  );
}

/** Suspends a claim for a human decision: the lease stops and the gate's own deadline starts. */
export function decideSuspend(head: Head, command: SuspendCommand, ctx: DecisionContext): Decision {
  const fault = handleFault(head, command.handle, ctx);
  if (fault !== null) return refuse(head, fault);
  const claim = head.claim as HeldClaim;
  if (isLapsed(head, ctx.now_ms, ctx.rules)) return withExpiryBound(refuse(head, 'ALREADY_EXPIRED'), ctx);
  if (claim.state === 'SUSPENDED')
    return replay(head, 'SUSPENDED', { expires_at_ms: claim.suspended_until_ms });
  const builder = new DecisionBuilder(head, ctx);
  const untilMs = builder.at_ms + ctx.rules.suspend_max_seconds * 1000;
  builder.emit('suspended', holderActor(head), {
    until: isoTime(untilMs),
    ...(command.gate === null ? {} : { gate: command.gate }),
  });
  const not_after_ms = finiteOrNull(lapsesAtMs(claim, ctx.rules));
  return builder.build('SUSPENDED', { expires_at_ms: untilMs }, { not_after_ms });
}

/** Resumes a claim under the same generation, with a fresh lease. */
export function decideResume(head: Head, command: ResumeCommand, ctx: DecisionContext): Decision {
  const fault = handleFault(head, command.handle, ctx);
  if (fault !== null) return refuse(head, fault);
  const claim = head.claim as HeldClaim;
  if (isLapsed(head, ctx.now_ms, ctx.rules)) return withExpiryBound(refuse(head, 'ALREADY_EXPIRED'), ctx);
  if (claim.state === 'ACTIVE') return replay(head, 'RESUMED', { expires_at_ms: claim.expires_at_ms });
  const builder = new DecisionBuilder(head, ctx);
  const lease = freshLease(claim, builder.at_ms);
  builder.emit('resumed', holderActor(head), lease);
  const not_after_ms = finiteOrNull(lapsesAtMs(claim, ctx.rules));
  return builder.build(
    'RESUMED',
    { expires_at_ms: builder.head.claim?.expires_at_ms ?? null },
    { not_after_ms },
  );
}

/** A full lease of the claim's own duration, from now. */
export function freshLease(claim: HeldClaim, atMs: number) {
  const endMs = leaseEndMs(atMs, claim.lease_seconds, claim.max_hold_until_ms);
  return {
    lease_duration_seconds: claim.lease_seconds,
    expires_at: endMs === null ? null : isoTime(endMs),
  };
}
