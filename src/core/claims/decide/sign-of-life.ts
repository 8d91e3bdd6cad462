import { type EventDraft, isoTime } from '../../events/envelope.js';
import { claimEventKindOf } from '../claim-event-kinds.js';
import type { Decision, DecisionContext } from '../commands.js';
import type { Head } from '../head.js';
import { finiteOrNull, isLapsed, lapsesAtMs } from '../lease.js';
import { DecisionBuilder, holderActor, refuse } from './decision-builder.js';

/**
 * Adds a sign of life to a decision on a command of the holder: a heartbeat that leaves the lease unchanged. It shows
 * that the agent is active and ends a stale period, but does not extend the lease. Call it only after the handle was
 * checked, and for decisions that change no head.
 */
export function withSignOfLife(decision: Decision, context: DecisionContext): Decision {
  const { head } = decision;
  if (!isSignOfLifeDue(head, context)) return decision;
  const { lease_seconds, expires_at_ms } = head.claim;
  const builder = new DecisionBuilder(head, context).emit('renewed', holderActor(head), {
    lease_duration_seconds: lease_seconds,
    expires_at: expires_at_ms === null ? null : isoTime(expires_at_ms),
  });
  const lapsesMs = lapsesAtMs(head.claim, context.rules);
  const not_after_ms = finiteOrNull(Math.min(decision.not_after_ms ?? Number.POSITIVE_INFINITY, lapsesMs));
  return { ...decision, next: builder.head, events: builder.events, not_after_ms };
}

/** The sign of life alone, for a step that the holder reports. */
export const signOfLife = (head: Head, context: DecisionContext): Decision => ({
  ...withSignOfLife(refuse(head, 'NOTED'), context),
  ok: true,
});

/**
 * A lapsed claim is not revived, and a suspended one waits for a human: its holder is not expected to be active. A sign
 * of life at the time of the last one would change nothing.
 */
function isSignOfLifeDue(
  head: Head,
  { now_ms, rules }: DecisionContext,
): head is Head & { claim: NonNullable<Head['claim']> } {
  const { claim } = head;
  if (claim === null || claim.state !== 'ACTIVE' || isLapsed(head, now_ms, rules)) return false;
  return claim.stale || Math.max(now_ms, head.last_at_ms) > claim.active_at_ms;
}

/** Whether an event of a decision is its sign of life, and not the heartbeat that was asked for. */
export const isSignOfLife = ({ code }: Pick<Decision, 'code'>, { event_type }: EventDraft): boolean =>
  code !== 'RENEWED' && claimEventKindOf(event_type) === 'renewed';
