import { type EventDraft, isoTime } from '../../events/envelope.js';
import { claimEventKindOf } from '../claim-event-kinds.js';
import type { Decision, DecisionContext } from '../commands.js';
import type { Head, LastClaim } from '../head.js';
import { finiteOrNull, isLapsed, lapsesAtMs } from '../lease.js';
import { DecisionBuilder, holderAttribution, unchangedDecision } from './decision-builder.js';

/**
 * Adds a sign of life to a decision on a command of the holder: a heartbeat that leaves the lease unchanged. It shows
 * that the agent is active and ends a stale period, but does not extend the lease. Call it only after the handle was
 * checked, and for decisions that change no head.
 */
export function withSignOfLife(decision: Decision, context: DecisionContext): Decision {
  const { head } = decision;
  if (!canShowLife(head, context) || !isLaterThanLast(head, context)) return decision;
  return withHeartbeat(decision, head, context);
}

function withHeartbeat(decision: Decision, head: ActiveHead, context: DecisionContext): Decision {
  const { lease_seconds, expires_at_ms } = head.claim;
  const builder = new DecisionBuilder(head, context).emit('renewed', holderAttribution(head), {
    lease_duration_seconds: lease_seconds,
    expires_at: expires_at_ms === null ? null : isoTime(expires_at_ms),
  });
  const lapsedAtMs = lapsesAtMs(head.claim, context.rules);
  const not_after_ms = finiteOrNull(Math.min(decision.not_after_ms ?? Number.POSITIVE_INFINITY, lapsedAtMs));
  return { ...decision, next: builder.head, events: builder.events, not_after_ms };
}

/**
 * The longest interval in which one sign of life is enough: an agent that reports every step must not double the length of
 * the log.
 */
const INTERVAL_MS_MAX = 5000;
/** The interval is at most this share of the lease, and at most this share of the stale threshold. */
const INTERVAL_SHARE = 0.1;

/**
 * A decision that records only a sign of life, for a step that the holder reports. No event is emitted within the interval
 * after the last sign of life, unless the claim is recorded as stale.
 */
export function signOfLife(head: Head, context: DecisionContext): Decision {
  const unchanged = unchangedDecision(head, 'NOTED', true);
  if (!canShowLife(head, context) || !isIntervalOver(head, context)) return unchanged;
  return withHeartbeat(unchanged, head, context);
}

type ActiveHead = Head & { readonly claim: LastClaim };

/**
 * Whether a sign of life can be recorded. A lapsed claim is not revived, and the holder of a suspended claim is not
 * expected to be active, because the claim waits for a person.
 */
const canShowLife = (head: Head, { now_ms, rules }: DecisionContext): head is ActiveHead =>
  head.claim?.state === 'ACTIVE' && !isLapsed(head, now_ms, rules);

const sinceLastMs = ({ claim, last_at_ms }: ActiveHead, { now_ms }: DecisionContext): number =>
  Math.max(now_ms, last_at_ms) - claim.active_at_ms;

/** Whether a sign of life now would change the head. At the same time as the last sign of life, it would not. */
const isLaterThanLast = (head: ActiveHead, context: DecisionContext): boolean =>
  head.claim.stale || sinceLastMs(head, context) > 0;

function isIntervalOver(head: ActiveHead, context: DecisionContext): boolean {
  const { lease_seconds, stale } = head.claim;
  const inactiveSeconds = Math.min(
    lease_seconds ?? Number.POSITIVE_INFINITY,
    context.rules.stale_threshold_seconds,
  );
  const intervalMs = Math.min(INTERVAL_MS_MAX, inactiveSeconds * 1000 * INTERVAL_SHARE);
  return stale || sinceLastMs(head, context) >= intervalMs;
}

/** Whether an event of a decision is a sign of life that was added to it, and not the renewal that the caller requested. */
export const isSignOfLife = ({ code }: Pick<Decision, 'code'>, { event_type }: EventDraft): boolean =>
  code !== 'RENEWED' && claimEventKindOf(event_type) === 'renewed';
