import type { Head, HeldClaim } from './head.js';
import type { Rules } from './policy.js';

/** When a claim lapses if nothing is heard of it. Under `hold` only `max_hold` ends it. */
export function lapsesAtMs(claim: HeldClaim, rules: Rules): number {
  const cap = claim.max_hold_until_ms ?? Number.POSITIVE_INFINITY;
  if (rules.stale_policy === 'hold') return cap;
  const lease = claim.state === 'SUSPENDED' ? claim.suspended_until_ms : claim.expires_at_ms;
  return Math.min(lease ?? Number.POSITIVE_INFINITY, cap);
}

export const finiteOrNull = (atMs: number): number | null => (Number.isFinite(atMs) ? atMs : null);

const isOpenClaim = (claim: HeldClaim): boolean => claim.state === 'ACTIVE' || claim.state === 'SUSPENDED';

/** The holder's own view: its lease has run out. */
export function isLapsed(head: Head, nowMs: number, rules: Rules): boolean {
  const claim = head.claim;
  if (claim === null) return false;
  return claim.state === 'EXPIRED' || (isOpenClaim(claim) && nowMs >= lapsesAtMs(claim, rules));
}

/** Everybody else's view: the lease has run out for certain, whatever the clocks differ by. */
export function canTakeOver(head: Head, nowMs: number, rules: Rules): boolean {
  const claim = head.claim;
  if (claim === null) return false;
  if (claim.state === 'EXPIRED') return true;
  return isOpenClaim(claim) && nowMs >= lapsesAtMs(claim, rules) + rules.skew_margin_ms;
}

/** Somebody holds the subject, and nobody else may have it. */
export function isLive(head: Head, nowMs: number, rules: Rules): boolean {
  return head.claim !== null && isOpenClaim(head.claim) && !canTakeOver(head, nowMs, rules);
}

/** Held, but silent for longer than the project tolerates: reported, never by itself taken away. */
export function isStale(head: Head, nowMs: number, rules: Rules): boolean {
  return head.claim !== null && nowMs >= staleFromMs(head.claim, rules);
}

/** When a held claim counts as stale: silent too long, or a gate past its deadline. Without a lease: never. */
export function staleFromMs(claim: HeldClaim, rules: Rules): number {
  if (rules.stale_policy !== 'hold') return Number.POSITIVE_INFINITY;
  if (claim.state === 'SUSPENDED') return claim.suspended_until_ms ?? Number.POSITIVE_INFINITY;
  if (claim.state !== 'ACTIVE' || claim.lease_seconds === null) return Number.POSITIVE_INFINITY;
  return claim.active_at_ms + rules.stale_threshold_seconds * 1000;
}

/** Failed generations in a row, counting an expiry that nobody wrote down yet. */
export function consecutiveFailures(head: Head, nowMs: number, rules: Rules): number {
  const hasUnrecordedExpiry =
    head.claim !== null && isOpenClaim(head.claim) && canTakeOver(head, nowMs, rules);
  return head.failures + (hasUnrecordedExpiry ? 1 : 0);
}

/** Why nobody may claim the subject until a human looks, or null. */
export function holdReason(head: Head, nowMs: number, rules: Rules): string | null {
  if (head.hold !== null) return head.hold.reason;
  const failures = consecutiveFailures(head, nowMs, rules);
  if (failures < rules.max_attempts || isLive(head, nowMs, rules)) return null;
  // An expiry nobody wrote down yet is the last thing that went wrong, whatever error came before it.
  return poisonReason(failures, failures > head.failures ? null : head.last_error);
}

export function poisonReason(failures: number, lastError: string | null): string {
  const lastFailure = lastError === null ? 'the lease ran out' : lastError;
  return `${failures} attempts in a row ended in error or expiry; the last: ${lastFailure}`;
}

/** Until when the subject takes a place among the tenant's concurrent claims; null: it takes none. */
export function permitHeldUntilMs(head: Head, rules: Rules): number | null {
  if (head.claim === null || !isOpenClaim(head.claim)) return null;
  return lapsesAtMs(head.claim, rules) + rules.skew_margin_ms;
}
