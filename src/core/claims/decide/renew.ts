import { isoTime } from '../../events/envelope.js';
import type { Context, Decision, RenewCommand, ResumeCommand, SuspendCommand } from '../commands.js';
import type { Head, HeldClaim } from '../head.js';
import { finiteOrNull, lapsed, lapsesAtMs } from '../lease.js';
import { leaseAllowed, leaseEndMs } from './claim.js';
import { handleFault } from './handle.js';
import { holder, refuse, replay, Telling, tooLate } from './tell.js';

export function decideRenew(head: Head, command: RenewCommand, ctx: Context): Decision {
  if (!leaseAllowed(command.lease_seconds, ctx.rules)) return refuse(head, 'INVALID_LEASE');
  const fault = handleFault(head, command.handle, ctx);
  if (fault !== null) return refuse(head, fault);
  const claim = head.claim as HeldClaim;
  if (lapsed(head, ctx.now_ms, ctx.rules)) return tooLate(refuse(head, 'ALREADY_EXPIRED'), ctx);
  // The lease of a suspended claim stands still: there is nothing to renew, and nothing is wrong.
  if (claim.state === 'SUSPENDED') {
    return replay(head, 'RENEWED', { expires_at_ms: claim.suspended_until_ms });
  }
  if (claim.expires_at_ms === null) return replay(head, 'RENEWED', { expires_at_ms: null });
  const telling = new Telling(head, ctx);
  const lease_seconds = command.lease_seconds ?? claim.lease_seconds;
  const until_ms = leaseEndMs(telling.at_ms, lease_seconds, claim.max_hold_until_ms);
  // A renewal never shortens what was granted.
  const expires_at_ms = Math.max(claim.expires_at_ms, until_ms ?? claim.expires_at_ms);
  telling.tell('renewed', holder(head), {
    lease_duration_seconds: lease_seconds,
    expires_at: isoTime(expires_at_ms),
  });
  return telling.done(
    'RENEWED',
    { expires_at_ms },
    { not_after_ms: finiteOrNull(lapsesAtMs(claim, ctx.rules)) },
  );
}

/** A human is asked: the lease stops, and the gate's own deadline runs. */
export function decideSuspend(head: Head, command: SuspendCommand, ctx: Context): Decision {
  const fault = handleFault(head, command.handle, ctx);
  if (fault !== null) return refuse(head, fault);
  const claim = head.claim as HeldClaim;
  if (lapsed(head, ctx.now_ms, ctx.rules)) return tooLate(refuse(head, 'ALREADY_EXPIRED'), ctx);
  if (claim.state === 'SUSPENDED')
    return replay(head, 'SUSPENDED', { expires_at_ms: claim.suspended_until_ms });
  const telling = new Telling(head, ctx);
  const until_ms = telling.at_ms + ctx.rules.suspend_max_seconds * 1000;
  telling.tell('suspended', holder(head), {
    until: isoTime(until_ms),
    ...(command.gate === null ? {} : { gate: command.gate }),
  });
  const not_after_ms = finiteOrNull(lapsesAtMs(claim, ctx.rules));
  return telling.done('SUSPENDED', { expires_at_ms: until_ms }, { not_after_ms });
}

/** Back to work under the same generation, with a fresh lease. */
export function decideResume(head: Head, command: ResumeCommand, ctx: Context): Decision {
  const fault = handleFault(head, command.handle, ctx);
  if (fault !== null) return refuse(head, fault);
  const claim = head.claim as HeldClaim;
  if (lapsed(head, ctx.now_ms, ctx.rules)) return tooLate(refuse(head, 'ALREADY_EXPIRED'), ctx);
  if (claim.state === 'ACTIVE') return replay(head, 'RESUMED', { expires_at_ms: claim.expires_at_ms });
  const telling = new Telling(head, ctx);
  const lease = freshLease(claim, telling.at_ms);
  telling.tell('resumed', holder(head), lease);
  const not_after_ms = finiteOrNull(lapsesAtMs(claim, ctx.rules));
  return telling.done(
    'RESUMED',
    { expires_at_ms: telling.head.claim?.expires_at_ms ?? null },
    { not_after_ms },
  );
}

/** The claim's own lease, counted from now. */
export function freshLease(claim: HeldClaim, at_ms: number) {
  const end_ms = leaseEndMs(at_ms, claim.lease_seconds, claim.max_hold_until_ms);
  return {
    lease_duration_seconds: claim.lease_seconds,
    expires_at: end_ms === null ? null : isoTime(end_ms),
  };
}
