import type { Head } from '../../src/core/claims/head.js';
import type { Rules } from '../../src/core/claims/policy.js';
import { TICK_MS } from './models.js';

/**
 * The parts of a head that can still matter, as a string. Times are relative to now, and times far enough in the past
 * are equal, so a model whose clock never stops has finitely many states. `seq` and purely historical times are left
 * out.
 */
export function canonicalHead(head: Head, nowMs: number, rules: Rules): string {
  const { claim, result, gate, hold } = head;
  const oldestMs = -rules.skew_margin_ms - TICK_MS;
  const ticksFromNow = (atMs: number | null): number | null =>
    atMs === null ? null : Math.max(atMs - nowMs, oldestMs) / TICK_MS;
  const silentMs =
    claim === null ? 0 : Math.min(nowMs - claim.active_at_ms, rules.stale_threshold_seconds * 1000);
  return JSON.stringify([
    head.generation,
    head.epoch,
    head.phase,
    claim && [claim.state, claim.release_reason, claim.agent_id, claim.inputs, claim.lease_seconds],
    claim && [
      ticksFromNow(claim.expires_at_ms),
      ticksFromNow(claim.max_hold_until_ms),
      ticksFromNow(claim.suspended_until_ms),
    ],
    rules.stale_policy === 'hold' && claim?.state === 'ACTIVE' ? silentMs : 0,
    result && [result.generation, result.sha256, result.session_id],
    hold && [hold.reason, hold.by],
    gate && [gate.generation, gate.candidate_sha256, gate.decision, gate.reviewer, gate.candidate?.sha256],
    [head.failures, head.last_error, ticksFromNow(head.retry_at_ms)],
  ]);
}

/** The canonical head, plus whether the sweeper has already reported the claim as stale. */
export const stateKey = (head: Head, nowMs: number, rules: Rules): string =>
  `${canonicalHead(head, nowMs, rules)}${head.claim?.stale === true ? '!' : ''}`;
