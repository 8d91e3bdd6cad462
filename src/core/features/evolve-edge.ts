import type { EventEnvelope } from '../events/envelope.js';
import { checkCounts } from './evolve-iteration.js';
import { settle, silence, staleId, waitForHuman } from './evolve-signal.js';
import type { EdgeState } from './feature-state.js';
import { countIn, fieldOf, nameIn, sentenceIn } from './payload.js';
import { restingStatus, type Scene } from './scene.js';

/** The life of an edge, as the events of its claim tell it. */
export const edgeSteps = {
  edge_started: started,
  heartbeat: silence,
  claim_resumed: resumed,
  claim_suspended: suspended,
  claim_expired: expired,
  edge_released: released,
  edge_converged: converged,
  result_adopted: converged,
  convergence_escalated: escalated,
  review_completed: reviewed,
  // As later tools of the family call it.
  review_approved: reviewed,
  review_rejected: reviewed,
  edge_held: held,
  edge_unheld: unheld,
  edge_reset: reset,
};

/** A new episode: whatever was counted before says nothing of this one. */
function started(scene: Scene): void {
  const edge = scene.edge();
  if (edge === null) return;
  const { event, payload } = scene;
  forget(edge);
  edge.status = restingStatus(edge);
  // It names the iteration that begins; what is kept is how many are done.
  edge.iteration = Math.max((countIn(payload, 'iteration') ?? edge.iteration + 1) - 1, 0);
  edge.started_at = event.timestamp;
  edge.positions.started = event.position;
  edge.agent_id = nameIn(payload, 'granted_to') ?? event.agent_id;
  edge.agent_role = event.agent_role ?? null;
  edge.generation = event.generation ?? null;
  settle(scene);
}

function forget(edge: EdgeState): void {
  edge.delta = null;
  edge.deltas = [];
  edge.failing.clear();
  edge.converged_at = null;
  edge.positions.converged = null;
  edge.started_unseen = false;
  edge.unproven = false;
  edge.convergence_type = null;
  edge.evaluators = null;
}

function converged(scene: Scene): void {
  const edge = scene.edge();
  if (edge === null) return;
  const { event, payload } = scene;
  edge.status = 'converged';
  edge.iteration = countIn(payload, 'iteration') ?? edge.iteration;
  edge.delta = countIn(payload, 'delta') ?? edge.delta;
  edge.converged_at = event.timestamp;
  edge.positions.converged = event.position;
  edge.started_unseen = edge.started_at === null;
  edge.unproven = false;
  edge.blocked_by = null;
  edge.hold = null;
  edge.review = null;
  edge.agent_id ??= event.agent_id;
  edge.context_hash = nameIn(payload, 'context_hash') ?? edge.context_hash;
  edge.convergence_type = nameIn(payload, 'convergence_type');
  edge.evaluators = checkCounts(fieldOf(payload, 'evaluators')) ?? edge.evaluators;
  settle(scene);
}

function released(scene: Scene): void {
  const edge = scene.knownEdge();
  if (isStrangers(edge, scene.event)) return;
  if (edge !== null) leave(edge);
  settle(scene);
}

/** Our own rules let none but the holder and operators release; a foreign log may hold anybody's word. */
function isStrangers(edge: EdgeState | null, { subject, agent_id }: EventEnvelope): boolean {
  return subject === undefined && edge !== null && edge.agent_id !== null && edge.agent_id !== agent_id;
}

function leave(edge: EdgeState): void {
  if (edge.status === 'converged') return;
  edge.status = restingStatus(edge);
  edge.agent_id = null;
  edge.agent_role = null;
}

/** A silence noticed leaves the claim where it is; only one that ended the claim frees the edge. */
function expired(scene: Scene): void {
  const edge = scene.knownEdge();
  if (nameIn(scene.payload, 'disposition') !== 'eligible') {
    noteSilence(scene);
    return;
  }
  if (edge !== null) leave(edge);
  settle(scene);
}

function noteSilence({ state, event, payload, feature_id, edge_id }: Scene): void {
  if (feature_id === null || edge_id === null) return;
  const id = staleId(feature_id, edge_id);
  // One signal an episode, however often a tool repeats it.
  if (state.signals.has(id)) return;
  const who = nameIn(payload, 'agent_id') ?? event.agent_id;
  state.signals.set(id, {
    id,
    kind: 'stale_claim',
    at: event.timestamp,
    position: event.position,
    feature_id,
    edge: edge_id,
    severity: 'medium',
    says: `${who} holds ${feature_id} on ${edge_id} and has not been heard of`,
  });
}

function suspended(scene: Scene): void {
  silence(scene);
  awaitReview(scene.edge());
}

function awaitReview(edge: EdgeState | null): void {
  if (edge !== null && edge.status !== 'converged') edge.status = 'pending_review';
}

function escalated(scene: Scene): void {
  // Where roles only warn, the event is written and the work goes on.
  if (nameIn(scene.payload, 'action') === 'warn') return;
  silence(scene);
  awaitReview(scene.edge());
  waitForHuman(scene);
}

function resumed(scene: Scene): void {
  settle(scene);
  goOn(scene.knownEdge());
}

function reviewed(scene: Scene): void {
  // A review passed on upwards has decided nothing yet.
  if (nameIn(scene.payload, 'decision')?.toLowerCase() === 'escalated') return;
  settle(scene);
  const edge = scene.knownEdge();
  goOn(edge);
  if (edge !== null) edge.review = reviewIn(scene);
}

/** What was decided is in the payload, or in the name of the event. */
function reviewIn({ event, payload }: Scene): EdgeState['review'] {
  return {
    decision: (nameIn(payload, 'decision') ?? event.event_type.replace('review_', '')).toUpperCase(),
    reviewer: nameIn(payload, 'reviewer') ?? event.agent_id,
    comment: sentenceIn(payload, 'comment', 'feedback'),
    at: event.timestamp,
  };
}

function goOn(edge: EdgeState | null): void {
  if (edge?.status === 'pending_review') edge.status = restingStatus(edge);
}

function held(scene: Scene): void {
  const edge = scene.edge();
  if (edge === null || edge.status === 'converged') return;
  edge.hold = sentenceIn(scene.payload, 'reason') ?? 'no reason given';
  if (edge.status === 'iterating') edge.status = 'blocked';
}

function unheld(scene: Scene): void {
  const edge = scene.knownEdge();
  if (edge === null) return;
  edge.hold = null;
  unblock(scene, scene.feature_id, edge);
}

/** What stood in the way is gone. An edge that nobody ever began is pending again, which is to be in no map. */
export function unblock(scene: Scene, feature_id: string | null, edge: EdgeState): void {
  if (edge.status === 'blocked') edge.status = restingStatus(edge);
  const untouched = edge.started_at === null && edge.iteration === 0 && edge.deltas.length === 0;
  if (untouched && edge.status === 'iterating' && feature_id !== null) {
    scene.state.features.get(feature_id)?.edges.delete(edge.edge);
  }
}

function reset(scene: Scene): void {
  const edge = scene.knownEdge();
  if (edge === null) return;
  forget(edge);
  edge.iteration = 0;
  edge.agent_id = null;
  edge.agent_role = null;
  edge.context_hash = null;
  edge.review = null;
  edge.status = restingStatus(edge);
  settle(scene);
}
