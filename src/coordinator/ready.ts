import { live, occupiedUntilMs, takeable } from '../core/claims/lease.js';
import { agentsInTrack, compareReady, type Rank, trackRoom } from '../core/plan/index.js';
import { readinessOf } from '../core/views/index.js';
import type { Desk } from './desk.js';
import { openDependencies } from './facts.js';

/**
 * Work that can be claimed now, best first: the agent's own tracks, then tracks with room, then the rest.
 * Advice only: whoever takes a piece of it still has to claim it.
 */
export function* readyWork(desk: Desk, agent_id: string, track: string | undefined): Generator<string> {
  const rooms = trackRooms(desk, agent_id);
  const own = ownTracks(desk, agent_id);
  const preference = (name: string): number => {
    const room = rooms(name);
    if (room === 'full') return 3;
    if (own.has(name)) return 0;
    return room === 'free' ? 1 : 2;
  };
  const candidates = candidatesByTrack(desk, track);
  for (const wanted of [0, 1, 2]) {
    const lists = [...candidates].filter(([name]) => preference(name) === wanted).flatMap(([, of]) => of);
    for (const { id } of bestFirst(lists)) if (isReady(desk, id)) yield id;
  }
}

/** How many pieces of work are ready in each track, whoever may take them; nobody asks for more than `enough`. */
export function readyByTrack(desk: Desk, enough: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [track, lists] of candidatesByTrack(desk, undefined)) {
    let count = 0;
    for (const { id } of bestFirst(lists)) {
      if (count >= enough) break;
      if (isReady(desk, id)) count += 1;
    }
    if (count > 0) counts.set(track, count);
  }
  return counts;
}

/** The work of each track, in lists with the best first: what nobody holds, and what was held and may be taken over. */
function candidatesByTrack(desk: Desk, track: string | undefined): Map<string, (readonly Rank[])[]> {
  const { state } = desk;
  const lists = new Map<string, (readonly Rank[])[]>();
  for (const [name, free] of state.frontier.byTrack) lists.set(name, [free]);
  const held = [...takeableWork(desk)].sort(compareReady);
  for (const name of new Set(held.map((rank) => rank.track))) {
    lists.set(name, [...(lists.get(name) ?? []), held.filter((rank) => rank.track === name)]);
  }
  return track === undefined ? lists : new Map([[track, lists.get(track) ?? []]]);
}

function* takeableWork(desk: Desk): Generator<Rank> {
  const { live: claimed, frontier, plan } = desk.state;
  for (const subject of claimed) {
    if (!takeable(desk.glimpse(subject), desk.now_ms, desk.rulesOf(subject))) continue;
    const rank = frontier.rankOf(plan, subject);
    if (rank !== undefined) yield rank;
  }
}

/** Several lists, each best first, as one. */
function* bestFirst(lists: readonly (readonly Rank[])[]): Generator<Rank> {
  const open = lists.map((ranks) => ({ ranks, at: 0 }));
  for (;;) {
    let best: (typeof open)[number] | null = null;
    for (const list of open) {
      const rank = list.ranks[list.at];
      const ahead = best?.ranks[best.at];
      if (rank !== undefined && (ahead === undefined || compareReady(rank, ahead) < 0)) best = list;
    }
    const found = best?.ranks[best.at];
    if (best === null || found === undefined) return;
    best.at += 1;
    yield found;
  }
}

function isReady(desk: Desk, id: string): boolean {
  // The plan may have changed since the frontier was surveyed.
  if (!desk.state.plan.has(id)) return false;
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
