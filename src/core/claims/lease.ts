import type { Head, HeldClaim } from './head.js';
import type { Rules } from './policy.js';

/** When a claim lapses if nothing is heard of it. Under `hold` only `max_hold` ends it. */
export function lapsesAtMs(claim: HeldClaim, rules: Rules): number {
  const cap = claim.max_hold_until_ms ?? Number.POSITIVE_INFINITY;
  if (rules.stale_policy === 'hold') return cap;
  const lease = claim.state === 'SUSPENDED' ? claim.suspended_until_ms : claim.expires_at_ms;
  return Math.min(lease ?? Number.POSITIVE_INFINITY, cap);
}

export const finiteOrNull = (at_ms: number): number | null => (Number.isFinite(at_ms) ? at_ms : null);

const isOpen = (claim: HeldClaim): boolean => claim.state === 'ACTIVE' || claim.state === 'SUSPENDED';

/** The holder's own view: its lease has run out. */
export function lapsed(head: Head, now_ms: number, rules: Rules): boolean {
  const claim = head.claim;
  if (claim === null) return false;
  return claim.state === 'EXPIRED' || (isOpen(claim) && now_ms >= lapsesAtMs(claim, rules));
}

/** Everybody else's view: the lease has run out for certain, whatever the clocks differ by. */
export function takeable(head: Head, now_ms: number, rules: Rules): boolean {
  const claim = head.claim;
  if (claim === null) return false;
  if (claim.state === 'EXPIRED') return true;
  return isOpen(claim) && now_ms >= lapsesAtMs(claim, rules) + rules.skew_margin_ms;
}

/** Somebody holds the subject, and nobody else may have it. */
export function live(head: Head, now_ms: number, rules: Rules): boolean {
  return head.claim !== null && isOpen(head.claim) && !takeable(head, now_ms, rules);
}

/** Held, but silent for longer than the project tolerates: reported, never by itself taken away. */
export function stale(head: Head, now_ms: number, rules: Rules): boolean {
  return head.claim !== null && now_ms >= staleFromMs(head.claim, rules);
}

/** When a held claim counts as stale: silent too long, or a gate past its deadline. Without a lease: never. */
export function staleFromMs(claim: HeldClaim, rules: Rules): number {
  if (rules.stale_policy !== 'hold') return Number.POSITIVE_INFINITY;
  if (claim.state === 'SUSPENDED') return claim.suspended_until_ms ?? Number.POSITIVE_INFINITY;
  if (claim.state !== 'ACTIVE' || claim.lease_seconds === null) return Number.POSITIVE_INFINITY;
  return claim.active_at_ms + rules.stale_threshold_seconds * 1000;
}

/** Failed generations in a row, counting an expiry that nobody wrote down yet. */
export function failuresInARow(head: Head, now_ms: number, rules: Rules): number {
  const unwritten = head.claim !== null && isOpen(head.claim) && takeable(head, now_ms, rules);
  return head.failures + (unwritten ? 1 : 0);
}

/** Why nobody may claim the subject until a human looks, or null. */
export function holdReason(head: Head, now_ms: number, rules: Rules): string | null {
  if (head.hold !== null) return head.hold.reason;
  const failures = failuresInARow(head, now_ms, rules);
  if (failures < rules.max_attempts || live(head, now_ms, rules)) return null;
  // An expiry nobody wrote down yet is the last thing that went wrong, whatever error came before it.
  return poisonReason(failures, failures > head.failures ? null : head.last_error);
}

export function poisonReason(failures: number, last_error: string | null): string {
  const last = last_error === null ? 'the lease ran out' : last_error;
  return `${failures} attempts in a row ended in error or expiry; the last: ${last}`;
}

/** Until when the subject takes a place among the tenant's concurrent claims; null: it takes none. */
export function occupiedUntilMs(head: Head, rules: Rules): number | null {
  if (head.claim === null || !isOpen(head.claim)) return null;
  return lapsesAtMs(head.claim, rules) + rules.skew_margin_ms;
}
