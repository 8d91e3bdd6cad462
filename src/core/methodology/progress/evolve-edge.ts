import type { EventEnvelope } from '../../events/envelope.js';
import { isImported } from '../../events/known-event.js';
import { type EventContext, statusWithoutReview } from './event-context.js';
import { parseCheckCounts } from './evolve-iteration.js';
import { clearClaimSignals, clearStaleSignal, raiseEscalation, raiseStaleSignal } from './evolve-signal.js';
import { type EdgeState, newEpisode } from './feature-state.js';
import { countIn, payloadField, shortTextIn, truncatedTextIn } from './payload.js';

/** Handlers for the claim events of an edge. */
export const edgeHandlers = {
  edge_started: onStarted,
  heartbeat: clearStaleSignal,
  claim_resumed: onResumed,
  claim_suspended: onSuspended,
  claim_expired: onExpired,
  edge_released: onReleased,
  edge_converged: onConverged,
  result_adopted: onConverged,
  convergence_escalated: onEscalated,
  review_completed: onReviewed,
  edge_held: onHeld,
  edge_unheld: onUnheld,
  edge_reset: onReset,
  // Names that other Genesis tools use.
  convergence_achieved: onConverged,
  human_review_completed: onReviewed,
  review_approved: onReviewed,
  review_rejected: onReviewed,
};

/** Starts the edge, perhaps again: the deltas and failures that were counted before this start no longer apply. */
function onStarted(context: EventContext): void {
  const edge = context.ensureEdge();
  if (edge === null) return;
  const { event, payload } = context;
  resetEpisode(edge);
  edge.status = statusWithoutReview(edge);
  // The event names the iteration that starts; the state counts completed ones.
  edge.iteration = Math.max((countIn(payload, 'iteration') ?? edge.iteration + 1) - 1, 0);
  edge.started_at = event.timestamp;
  edge.positions.started = event.position;
  edge.agent_id = shortTextIn(payload, 'granted_to') ?? event.agent_id;
  edge.agent_role = event.agent_role ?? null;
  clearClaimSignals(context);
}

function resetEpisode(edge: EdgeState): void {
  Object.assign(edge, newEpisode());
  edge.positions.converged = null;
}

function onConverged(context: EventContext): void {
  const edge = context.ensureEdge();
  if (edge === null) return;
  const { event, payload } = context;
  edge.status = 'converged';
  edge.iteration = countIn(payload, 'iteration') ?? edge.iteration;
  edge.delta = countIn(payload, 'delta') ?? edge.delta;
  edge.converged_at = event.timestamp;
  edge.positions.converged = event.position;
  edge.converged_unstarted = edge.started_at === null;
  edge.imported = event.subject === undefined && isImported(payload);
  edge.has_unproven_convergence = false;
  edge.blocked_by = null;
  edge.hold = null;
  edge.review = null;
  edge.agent_id ??= event.agent_id;
  edge.context_hash = shortTextIn(payload, 'context_hash') ?? edge.context_hash;
  edge.convergence_type = shortTextIn(payload, 'convergence_type');
  edge.evaluators = parseCheckCounts(payloadField(payload, 'evaluators')) ?? edge.evaluators;
  clearClaimSignals(context);
}

function onReleased(context: EventContext): void {
  const edge = context.existingEdge();
  if (isFromNonHolder(edge, context.event)) return;
  if (edge !== null) clearHolder(edge);
  clearClaimSignals(context);
}

/**
 * Whether a foreign log reports a release by an agent that does not hold the edge. This coordinator lets only the holder
 * and operators release, so its own events need no such check.
 */
function isFromNonHolder(edge: EdgeState | null, { subject, agent_id }: EventEnvelope): boolean {
  return subject === undefined && edge !== null && edge.agent_id !== null && edge.agent_id !== agent_id;
}

function clearHolder(edge: EdgeState): void {
  if (edge.status === 'converged') return;
  edge.status = statusWithoutReview(edge);
  edge.agent_id = null;
  edge.agent_role = null;
}

/** A stale claim is still held; only an expiry that ended the claim frees the edge. */
function onExpired(context: EventContext): void {
  const { event, payload, feature_id, edge_id } = context;
  if (shortTextIn(payload, 'disposition') !== 'eligible') {
    const holder = shortTextIn(payload, 'agent_id') ?? event.agent_id;
    raiseStaleSignal(context, `${holder} holds ${feature_id} on ${edge_id} and is inactive`);
    return;
  }
  const edge = context.existingEdge();
  if (edge !== null) clearHolder(edge);
  clearClaimSignals(context);
}

function onSuspended(context: EventContext): void {
  clearStaleSignal(context);
  markPendingReview(context.ensureEdge());
}

function markPendingReview(edge: EdgeState | null): void {
  if (edge !== null && edge.status !== 'converged') edge.status = 'pending_review';
}

function onEscalated(context: EventContext): void {
  // If the project only warns, the event is written but the work continues.
  if (shortTextIn(context.payload, 'action') === 'warn') return;
  clearStaleSignal(context);
  markPendingReview(context.ensureEdge());
  raiseEscalation(context);
}

function onResumed(context: EventContext): void {
  clearClaimSignals(context);
  clearPendingReview(context.existingEdge());
}

function onReviewed(context: EventContext): void {
  // A review that was escalated has decided nothing yet.
  if (shortTextIn(context.payload, 'decision')?.toLowerCase() === 'escalated') return;
  clearClaimSignals(context);
  const edge = context.existingEdge();
  clearPendingReview(edge);
  if (edge === null) return;
  const { event, payload } = context;
  edge.review = {
    // The decision is in the payload or in the event type.
    decision: (shortTextIn(payload, 'decision') ?? event.event_type.replace(/^.*review_/, '')).toUpperCase(),
    reviewer: shortTextIn(payload, 'reviewer', 'actor') ?? event.agent_id,
    pushed_by: shortTextIn(payload, 'pushed_by'),
    comment: truncatedTextIn(payload, 'comment', 'feedback'),
    at: event.timestamp,
  };
}

function clearPendingReview(edge: EdgeState | null): void {
  if (edge?.status === 'pending_review') edge.status = statusWithoutReview(edge);
}

function onHeld(context: EventContext): void {
  const edge = context.ensureEdge();
  if (edge === null || edge.status === 'converged') return;
  edge.hold = truncatedTextIn(context.payload, 'reason') ?? 'no reason given';
  if (edge.status === 'iterating') edge.status = 'blocked';
}

function onUnheld(context: EventContext): void {
  const edge = context.existingEdge();
  if (edge === null) return;
  edge.hold = null;
  unblock(context, context.feature_id, edge);
}

/**
 * Removes the blocked status. An edge that was never started becomes pending again, which means it has no entry in the
 * map.
 */
export function unblock(context: EventContext, featureId: string | null, edge: EdgeState): void {
  if (edge.status === 'blocked') edge.status = statusWithoutReview(edge);
  const isUntouched = edge.started_at === null && edge.iteration === 0 && edge.deltas.length === 0;
  if (isUntouched && edge.status === 'iterating' && featureId !== null) {
    context.state.features.get(featureId)?.edges.delete(edge.edge);
  }
}

function onReset(context: EventContext): void {
  const edge = context.existingEdge();
  if (edge === null) return;
  resetEpisode(edge);
  edge.iteration = 0;
  edge.agent_id = null;
  edge.agent_role = null;
  edge.context_hash = null;
  edge.review = null;
  edge.status = statusWithoutReview(edge);
  clearClaimSignals(context);
}
