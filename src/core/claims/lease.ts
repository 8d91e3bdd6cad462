import type { SubjectKind } from '../subject.js';
import type { Decision } from './commands.js';
import type { Head, LastClaim } from './head.js';
import type { Rules } from './policy.js';

/** Default lease of a claim on a task. The default for an edge is the policy `claim_ttl_seconds`. */
const DEFAULT_LEASE_SECONDS = 300;

/** Lease of a claim whose request names none: the default, within the limits of the tenant. */
export function defaultLeaseSeconds(kind: SubjectKind, rules: Rules): number {
  const seconds = kind === 'edge' ? rules.claim_ttl_seconds : DEFAULT_LEASE_SECONDS;
  return Math.min(Math.max(seconds, rules.min_lease_duration_seconds), rules.max_lease_duration_seconds);
}

export function isLeaseAllowed(leaseSeconds: number | null, rules: Rules): boolean {
  if (leaseSeconds === null) return true;
  return leaseSeconds >= rules.min_lease_duration_seconds && leaseSeconds <= rules.max_lease_duration_seconds;
}

/** Why a lease is not allowed: the two limits with their values. */
export const leaseBoundsText = (leaseSeconds: number | null, rules: Rules): string =>
  `${leaseSeconds} is outside the limits of the tenant: min_lease_duration_seconds is ${rules.min_lease_duration_seconds}, max_lease_duration_seconds is ${rules.max_lease_duration_seconds}`;

/** Time at which a claim lapses without further activity; Infinity: never. Under `hold` only its maximum hold time ends it. */
export function lapsesAtMs(claim: LastClaim, rules: Rules): number {
  const capMs = claim.max_hold_until_ms ?? Number.POSITIVE_INFINITY;
  if (rules.stale_policy === 'hold') return capMs;
  const leaseEndsMs = claim.state === 'SUSPENDED' ? claim.suspended_until_ms : claim.expires_at_ms;
  return Math.min(leaseEndsMs ?? Number.POSITIVE_INFINITY, capMs);
}

export const finiteOrNull = (atMs: number): number | null => (Number.isFinite(atMs) ? atMs : null);

export const isOpenClaim = (claim: LastClaim): boolean =>
  claim.state === 'ACTIVE' || claim.state === 'SUSPENDED';

/** When the lease of unfinished work ends or has ended; null if it has none, or the claim has ended in another way. */
export function leaseEndMsOf({ phase, claim }: Head): number | null {
  if (phase === 'COMPLETED' || claim === null) return null;
  if (claim.state === 'SUSPENDED') return claim.suspended_until_ms;
  return claim.state === 'ACTIVE' || claim.state === 'EXPIRED' ? claim.expires_at_ms : null;
}

/** Whether the lease has run out for its holder. */
export function isLapsed(head: Head, nowMs: number, rules: Rules): boolean {
  const claim = head.claim;
  if (claim === null) return false;
  return claim.state === 'EXPIRED' || (isOpenClaim(claim) && nowMs >= lapsesAtMs(claim, rules));
}

/** Whether other agents may treat the lease as ended; the allowed clock skew is included. */
export const canTakeOver = (head: Head, nowMs: number, rules: Rules): boolean =>
  isLapsed(head, nowMs - rules.skew_margin_ms, rules);

/** Whether the subject has a live claim, so that no other agent may claim it. */
export function isLive(head: Head, nowMs: number, rules: Rules): boolean {
  return head.claim !== null && isOpenClaim(head.claim) && !canTakeOver(head, nowMs, rules);
}

/** Whether an open claim is stale, which is possible only under `hold`. Such a claim is reported, but not taken away. */
export function isStale(head: Head, nowMs: number, rules: Rules): boolean {
  return head.claim !== null && nowMs >= staleFromMs(head.claim, rules);
}

/**
 * Time from which an open claim is stale: the holder was inactive too long, or the deadline of the gate has passed.
 * Infinity if it cannot become stale.
 */
export function staleFromMs(claim: LastClaim, rules: Rules): number {
  if (rules.stale_policy !== 'hold') return Number.POSITIVE_INFINITY;
  if (claim.state === 'SUSPENDED') return claim.suspended_until_ms ?? Number.POSITIVE_INFINITY;
  if (claim.state !== 'ACTIVE' || claim.lease_seconds === null) return Number.POSITIVE_INFINITY;
  return claim.active_at_ms + rules.stale_threshold_seconds * 1000;
}

/** Consecutive failed generations, including an expiry that is not recorded yet. */
function consecutiveFailures(head: Head, nowMs: number, rules: Rules): number {
  const hasUnrecordedExpiry =
    head.claim !== null && isOpenClaim(head.claim) && canTakeOver(head, nowMs, rules);
  return head.failures + (hasUnrecordedExpiry ? 1 : 0);
}

/** Why the subject cannot be claimed until a person acts; null if it can. */
export function holdText(head: Head, nowMs: number, rules: Rules): string | null {
  if (head.hold !== null) return head.hold.reason;
  const failures = consecutiveFailures(head, nowMs, rules);
  if (failures < rules.max_attempts || isLive(head, nowMs, rules)) return null;
  // An unrecorded expiry is the latest failure, later than any recorded error.
  return failureHoldText(failures, failures > head.failures ? null : head.last_error);
}

export function failureHoldText(failures: number, lastError: string | null): string {
  const lastFailure = lastError === null ? 'the lease ran out' : lastError;
  if (failures === 1) return `the last attempt ended in error or expiry: ${lastFailure}`;
  return `${failures} attempts in a row ended in error or expiry; the last: ${lastFailure}`;
}

/** Time until which the subject occupies a permit of the tenant's concurrent claims; null if it needs no permit. */
export function permitHeldUntilMs(head: Head, rules: Rules): number | null {
  if (head.claim === null || !isOpenClaim(head.claim)) return null;
  return lapsesAtMs(head.claim, rules) + rules.skew_margin_ms;
}

/**
 * Whether a decision needs new permits: one of the tenant's limit of live claims, and one of the track's limit if it has one.
 * A grant needs them, and so does an escalation after the lease has lapsed. A live claim keeps its permits, even if the policy
 * changes.
 */
export function needsPermit({ code, head }: Decision, nowMs: number, rules: Rules): boolean {
  if (code === 'ESCALATED') return canTakeOver(head, nowMs, rules);
  return code === 'GRANTED' || code === 'REASSIGNED';
}
