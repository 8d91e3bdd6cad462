import { canTakeOver, permitHeldUntilMs } from '../../core/claims/lease.js';
import {
  agentsByTrack,
  compareRank,
  maxAgentsIn,
  type RankedSubject,
  trackCapacity,
} from '../../core/plan/index.js';
import { readinessOf, subjectsWithOpenClaim } from '../../core/views/index.js';
import type { DecisionView } from '../queue/decision-view.js';
import { openDependencies } from './facts.js';

/**
 * Claimable work in tracks that are not full, best first: in tracks in which the agent has worked, then in tracks without
 * other agents, then in the rest.
 */
export function* readyWork(view: DecisionView, agentId: string, track: string | undefined) {
  const agents = agentsByTrack(liveClaims(view));
  // Tracks in which the agent has already worked come first.
  const ownTracks = view.state.tracksByAgent.get(agentId);
  const trackLevelOf = (name: string): number => {
    const capacity = trackCapacity(
      agents.get(name),
      agentId,
      maxAgentsIn(name, view.policy.max_agents_per_track),
    );
    if (capacity === 'full') return 3;
    if (ownTracks?.has(name)) return 0;
    return capacity === 'free' ? 1 : 2;
  };
  const claimable = claimableByTrack(view, track);
  for (const level of [0, 1, 2]) {
    const lists = [...claimable]
      .filter(([name]) => trackLevelOf(name) === level)
      .flatMap(([, trackLists]) => trackLists);
    for (const { id } of mergeBestFirst(lists)) if (isReadyNow(view, id)) yield id;
  }
}

/** Number of ready subjects per track, for any agent, counted up to `countMax`. */
export function readyByTrack(view: DecisionView, countMax: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [track, lists] of claimableByTrack(view, undefined)) {
    let count = 0;
    for (const { id } of mergeBestFirst(lists)) {
      if (count >= countMax) break;
      if (isReadyNow(view, id)) count += 1;
    }
    if (count > 0) counts.set(track, count);
  }
  return counts;
}

/**
 * Claimable work per track as sorted lists, best first: unclaimed work, and claimed work that may be taken
 * over.
 */
function claimableByTrack(
  view: DecisionView,
  track: string | undefined,
): Map<string, (readonly RankedSubject[])[]> {
  const { state } = view;
  const lists = new Map<string, (readonly RankedSubject[])[]>();
  for (const [name, free] of state.frontier.byTrack) lists.set(name, [free]);
  const takeovers = [...takeoverSubjects(view)].sort(compareRank);
  for (const name of new Set(takeovers.map((subject) => subject.track))) {
    lists.set(name, [...(lists.get(name) ?? []), takeovers.filter((subject) => subject.track === name)]);
  }
  return track === undefined ? lists : new Map([[track, lists.get(track) ?? []]]);
}

function* takeoverSubjects(view: DecisionView): Generator<RankedSubject> {
  const { frontier, plan } = view.state;
  for (const subject of subjectsWithOpenClaim(view.state)) {
    if (!canTakeOver(view.peekHead(subject), view.now_ms, view.rulesOf(subject))) continue;
    const rank = frontier.rankedSubject(plan, subject);
    if (rank !== undefined) yield rank;
  }
}

/** Merges several lists, each sorted best first. */
function* mergeBestFirst(lists: readonly (readonly RankedSubject[])[]): Generator<RankedSubject> {
  const cursors = lists.map((subjects) => ({ subjects, at: 0 }));
  for (;;) {
    let best: (typeof cursors)[number] | null = null;
    for (const list of cursors) {
      const subject = list.subjects[list.at];
      const ahead = best?.subjects[best.at];
      if (subject !== undefined && (ahead === undefined || compareRank(subject, ahead) < 0)) best = list;
    }
    const subject = best?.subjects[best.at];
    if (best === null || subject === undefined) return;
    best.at += 1;
    yield subject;
  }
}

function isReadyNow(view: DecisionView, id: string): boolean {
  // The plan may have changed since the frontier was rebuilt.
  if (!view.state.plan.has(id)) return false;
  const head = view.peekHead(id);
  if (head.phase === 'COMPLETED') return false;
  return readinessOf(head, openDependencies(view, id), view.rulesOf(id), view.now_ms) === 'ready';
}

function* liveClaims(view: DecisionView) {
  for (const subject of subjectsWithOpenClaim(view.state)) {
    const { claim } = view.peekHead(subject);
    if (claim !== null && view.isLive(subject)) yield { subject, agent_id: claim.agent_id };
  }
}

/** When the next claim or retry pause ends after `afterMs`: then a waiter must check again. */
export function nextDeadlineMs(view: DecisionView, afterMs: number): number {
  let nextMs = Number.POSITIVE_INFINITY;
  for (const subject of subjectsWithOpenClaim(view.state)) {
    const untilMs = permitHeldUntilMs(view.peekHead(subject), view.rulesOf(subject));
    if (untilMs !== null && untilMs > afterMs) nextMs = Math.min(nextMs, untilMs);
  }
  for (const subject of view.state.inBackoff) {
    const retryMs = view.peekHead(subject).retry_at_ms ?? 0;
    if (retryMs > afterMs) nextMs = Math.min(nextMs, retryMs);
  }
  return nextMs;
}
