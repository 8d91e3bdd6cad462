import { live, occupiedUntilMs } from '../core/claims/lease.js';
import { agentsInTrack, compareReady, type Plan, type Rank, rankOf, trackRoom } from '../core/plan/index.js';
import { readinessOf } from '../core/views/index.js';
import type { Desk } from './desk.js';
import { openDependencies } from './facts.js';

/** The subjects of a plan in the order in which they should be done, made once per revision of the plan. */
const orders = new WeakMap<Plan, { revision: number; order: Rank[] }>();

function orderOf(plan: Plan): Rank[] {
  const known = orders.get(plan);
  if (known?.revision === plan.revision) return known.order;
  const order: Rank[] = [];
  for (const subject of plan.subjects()) order.push(rankOf(plan, subject)!);
  order.sort(compareReady);
  orders.set(plan, { revision: plan.revision, order });
  return order;
}

/**
 * Work that can be claimed now, best first: the agent's own tracks, then tracks with room, then the rest.
 * Advice only: whoever takes a piece of it still has to claim it.
 */
export function* readyWork(desk: Desk, agent_id: string, track: string | undefined): Generator<string> {
  const rooms = trackRooms(desk, agent_id);
  const own = ownTracks(desk, agent_id);
  const preference = (rank: Rank): number => {
    const room = rooms(rank.track);
    if (room === 'full') return 3;
    if (own.has(rank.track)) return 0;
    return room === 'free' ? 1 : 2;
  };
  for (const wanted of [0, 1, 2]) {
    for (const rank of orderOf(desk.state.plan)) {
      if (track !== undefined && rank.track !== track) continue;
      if (preference(rank) === wanted && isReady(desk, rank.id)) yield rank.id;
    }
  }
}

/** How many pieces of work are ready in each track, whoever may take them. */
export function readyByTrack(desk: Desk): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { id, track } of orderOf(desk.state.plan)) {
    if (isReady(desk, id)) counts.set(track, (counts.get(track) ?? 0) + 1);
  }
  return counts;
}

function isReady(desk: Desk, id: string): boolean {
  const head = desk.glimpse(id);
  if (head.phase === 'COMPLETED') return false;
  return readinessOf(head, openDependencies(desk, id), desk.rulesOf(id), desk.now_ms) === 'ready';
}

function trackRooms(desk: Desk, agent_id: string) {
  const agents = agentsInTrack(liveWork(desk));
  const max = desk.policy.max_agents_per_track;
  return (track: string) => trackRoom(agents.get(track), agent_id, max);
}

function* liveWork(desk: Desk) {
  for (const subject of desk.state.live) {
    const head = desk.glimpse(subject);
    if (head.claim !== null && live(head, desk.now_ms, desk.rulesOf(subject))) {
      yield { subject, agent_id: head.claim.agent_id };
    }
  }
}

/** The tracks an agent has worked in: it knows its way about there. */
function ownTracks(desk: Desk, agent_id: string): ReadonlySet<string> {
  return desk.state.tracksOf.get(agent_id) ?? new Set();
}

/** When the next claim or pause runs out, so that somebody who waits knows when to look again. */
export function nextDeadlineMs(desk: Desk): number {
  let next_ms = Number.POSITIVE_INFINITY;
  for (const subject of desk.state.live) {
    const until_ms = occupiedUntilMs(desk.glimpse(subject), desk.rulesOf(subject));
    if (until_ms !== null && until_ms > desk.now_ms) next_ms = Math.min(next_ms, until_ms);
  }
  for (const subject of desk.state.paused) {
    const retry_ms = desk.glimpse(subject).retry_at_ms ?? 0;
    if (retry_ms > desk.now_ms) next_ms = Math.min(next_ms, retry_ms);
  }
  return next_ms;
}
