import type { Head } from '../../src/core/claims/head.js';
import type { Rules } from '../../src/core/claims/policy.js';
import { TICK_MS } from './models.js';

/**
 * What of a head can still make a difference, as a string. Times count from now, and one that has passed for good is
 * as good as any other, so a world whose clock never stops has finitely many states. `seq` and the times that only
 * tell of the past are left out.
 */
export function canonicalHead(head: Head, nowMs: number, rules: Rules): string {
  const { claim, result, gate, hold } = head;
  const oldestMs = -rules.skew_margin_ms - TICK_MS;
  const from = (atMs: number | null): number | null =>
    atMs === null ? null : Math.max(atMs - nowMs, oldestMs) / TICK_MS;
  const silentMs =
    claim === null ? 0 : Math.min(nowMs - claim.active_at_ms, rules.stale_threshold_seconds * 1000);
  return JSON.stringify([
    head.generation,
    head.epoch,
    head.phase,
    claim && [claim.state, claim.release_reason, claim.agent_id, claim.inputs, claim.lease_seconds],
    claim && [from(claim.expires_at_ms), from(claim.max_hold_until_ms), from(claim.suspended_until_ms)],
    rules.stale_policy === 'hold' && claim?.state === 'ACTIVE' ? silentMs : 0,
    result && [result.generation, result.sha256, result.session_id],
    hold && [hold.reason, hold.by],
    gate && [gate.generation, gate.candidate_sha256, gate.decision, gate.reviewer, gate.candidate?.sha256],
    [head.failures, head.last_error, from(head.retry_at_ms)],
  ]);
}

/** The same, and whether the sweeper has reported the episode: its own note to itself. */
export const stateKey = (head: Head, nowMs: number, rules: Rules): string =>
  `${canonicalHead(head, nowMs, rules)}${head.claim?.stale === true ? '!' : ''}`;
