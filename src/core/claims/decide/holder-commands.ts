import { isoTime } from '../../events/envelope.js';
import type { Decision, DecisionContext, SubjectCommand } from '../commands.js';
import type { Head, LastClaim } from '../head.js';
import { finiteOrNull, isLapsed, isLeaseAllowed, lapsesAtMs, leaseBoundsText } from '../lease.js';
import { leaseEndMs } from './claim.js';
import {
  DecisionBuilder,
  draftClaimEvent,
  holderAttribution,
  refuse,
  succeedUnchanged,
  unchangedDecision,
  withExpiryBound,
} from './decision-builder.js';
import { handleFault, isHolderHandle } from './handle.js';
import { withSignOfLife } from './sign-of-life.js';

export function decideRenew(
  head: Head,
  command: SubjectCommand<'renew'>,
  context: DecisionContext,
): Decision {
  if (!isLeaseAllowed(command.lease_seconds, context.rules)) {
    return refuse(head, 'INVALID_LEASE', { says: leaseBoundsText(command.lease_seconds, context.rules) });
  }
  const fault = handleFault(head, command.handle, context);
  if (fault !== null) return refuse(head, fault);
  const claim = head.claim as LastClaim;
  if (isLapsed(head, context.now_ms, context.rules))
    return withExpiryBound(refuse(head, 'ALREADY_EXPIRED'), context);
  // The lease of a suspended claim does not run, so a renewal succeeds without a change.
  if (claim.state === 'SUSPENDED') {
    return succeedUnchanged(head, 'RENEWED', { expires_at_ms: claim.suspended_until_ms });
  }
  if (claim.expires_at_ms === null) return succeedUnchanged(head, 'RENEWED', { expires_at_ms: null });
  const builder = new DecisionBuilder(head, context);
  const leaseSeconds = command.lease_seconds ?? claim.lease_seconds;
  const untilMs = leaseEndMs(builder.at_ms, leaseSeconds, claim.max_hold_until_ms);
  // A renewal never shortens the lease.
  const expires_at_ms = Math.max(claim.expires_at_ms, untilMs ?? claim.expires_at_ms);
  builder.emit('renewed', holderAttribution(head), {
    lease_duration_seconds: leaseSeconds,
    expires_at: isoTime(expires_at_ms),
  });
  return builder.build(
    'RENEWED',
    { expires_at_ms },
    { not_after_ms: finiteOrNull(lapsesAtMs(claim, context.rules)) },
  );
}

/** Suspends a claim for a person's decision: the lease stops and the gate's own deadline starts. */
export function decideSuspend(
  head: Head,
  command: SubjectCommand<'suspend'>,
  context: DecisionContext,
): Decision {
  const fault = handleFault(head, command.handle, context);
  if (fault !== null) return refuse(head, fault);
  const claim = head.claim as LastClaim;
  if (isLapsed(head, context.now_ms, context.rules))
    return withExpiryBound(refuse(head, 'ALREADY_EXPIRED'), context);
  if (claim.state === 'SUSPENDED')
    return succeedUnchanged(head, 'SUSPENDED', { expires_at_ms: claim.suspended_until_ms });
  const builder = new DecisionBuilder(head, context);
  const untilMs = builder.at_ms + context.rules.suspend_max_seconds * 1000;
  builder.emit('suspended', holderAttribution(head), {
    until: isoTime(untilMs),
    ...(command.gate === null ? {} : { gate: command.gate }),
  });
  const not_after_ms = finiteOrNull(lapsesAtMs(claim, context.rules));
  return builder.build('SUSPENDED', { expires_at_ms: untilMs }, { not_after_ms });
}

/** Resumes a claim under the same generation, with a fresh lease. */
export function decideResume(
  head: Head,
  command: SubjectCommand<'resume'>,
  context: DecisionContext,
): Decision {
  const fault = handleFault(head, command.handle, context);
  if (fault !== null) return refuse(head, fault);
  const claim = head.claim as LastClaim;
  if (isLapsed(head, context.now_ms, context.rules))
    return withExpiryBound(refuse(head, 'ALREADY_EXPIRED'), context);
  if (claim.state === 'ACTIVE')
    return succeedUnchanged(head, 'RESUMED', { expires_at_ms: claim.expires_at_ms });
  const builder = new DecisionBuilder(head, context);
  const lease = freshLease(claim, builder.at_ms);
  builder.emit('resumed', holderAttribution(head), lease);
  const not_after_ms = finiteOrNull(lapsesAtMs(claim, context.rules));
  return builder.build(
    'RESUMED',
    { expires_at_ms: builder.head.claim?.expires_at_ms ?? null },
    { not_after_ms },
  );
}

/** A lease of the claim's own duration from now, shortened to the maximum hold time of the claim. */
export function freshLease(claim: LastClaim, atMs: number) {
  const endMs = leaseEndMs(atMs, claim.lease_seconds, claim.max_hold_until_ms);
  return {
    lease_duration_seconds: claim.lease_seconds,
    expires_at: endMs === null ? null : isoTime(endMs),
  };
}

const BACKOFF_FIRST_MS = 5_000;
const BACKOFF_MAX_MS = 15 * 60_000;

/** Exponential backoff: the delay doubles with every consecutive failure, up to 15 minutes. */
function claimBackoffMs(failures: number): number {
  return Math.min(BACKOFF_FIRST_MS * 2 ** Math.min(failures - 1, 20), BACKOFF_MAX_MS);
}

export function decideRelease(
  head: Head,
  command: SubjectCommand<'release'>,
  context: DecisionContext,
): Decision {
  if (isAlreadyReleased(head, command, context)) return succeedUnchanged(head, 'RELEASED');
  const fault = handleFault(head, command.handle, context);
  if (fault !== null) return refuse(head, fault);
  const builder = new DecisionBuilder(head, context);
  const isError = command.reason === 'ERROR';
  // Each generation counts as one failure at most: a recorded expiry has already counted this one.
  const failures = builder.head.failures + (builder.head.claim?.state === 'EXPIRED' ? 0 : 1);
  builder.emit('released', holderAttribution(head), {
    reason: command.reason,
    ...(command.message === null ? {} : { message: command.message }),
    ...(isError ? { retry_at: isoTime(builder.at_ms + claimBackoffMs(failures)) } : {}),
  });
  builder.emitFailureHold(context);
  return builder.build('RELEASED');
}

/**
 * Whether the claim of this handle was already released, by its holder or by force. The reply to a release is then a success
 * again, as long as the subject was not granted again.
 */
function isAlreadyReleased(
  head: Head,
  command: SubjectCommand<'release'>,
  context: DecisionContext,
): boolean {
  const { claim } = head;
  if (claim === null || claim.state !== 'RELEASED' || claim.release_reason === 'COMPLETED') return false;
  return command.handle.generation === head.generation && isHolderHandle(head, command.handle, context);
}

/** Decides a note, which only the holder may write. A note is a sign of life and changes nothing else in the head. */
export function decideNote(head: Head, command: SubjectCommand<'note'>, context: DecisionContext): Decision {
  const fault = handleFault(head, command.handle, context);
  if (fault !== null) return refuse(head, fault);
  const noteEvent = draftClaimEvent(
    head,
    'noted',
    holderAttribution(head),
    { text: command.text },
    context.now_ms,
  );
  return withSignOfLife(unchangedDecision(head, 'NOTED', true, {}, [noteEvent]), context);
}
