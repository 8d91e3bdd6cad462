import { planPositionOf } from '../../src/core/plan/plan-position.js';
import { maxAgentsIn } from '../../src/core/plan/track-capacity.js';
import type { ProjectMonitor } from './project-monitor.js';

/** The agents with live claims, by track. */
type AgentsInTracks = ReadonlyMap<string, ReadonlySet<string>>;

/** `fromPosition`: grants before this position of the log do not count. */
export function agentsInTracks(
  projectMonitor: ProjectMonitor,
  nowMs: number,
  fromPosition = 0,
): AgentsInTracks {
  const tracks = new Map<string, Set<string>>();
  for (const [subject, untilMs] of projectMonitor.permitUntilMs) {
    const { track } = planPositionOf(subject);
    const head = projectMonitor.state.heads.get(subject);
    if (untilMs <= nowMs || track === null || head === undefined) continue;
    const grant = projectMonitor.findEvent(subject, head.generation, 'granted');
    if (grant === undefined || grant.position < fromPosition) continue;
    tracks.set(track, (tracks.get(track) ?? new Set<string>()).add(grant.agent_id));
  }
  return tracks;
}

/**
 * The tracks that a commit has brought above the limit. An agent that came before the limit may stay, so only a commit
 * that brings another agent into the track counts.
 */
export function overfilledTracks(
  projectMonitor: ProjectMonitor,
  nowMs: number,
  before: AgentsInTracks,
): string[] {
  const { currentPolicy, policy_position } = projectMonitor;
  const counted = agentsInTracks(projectMonitor, nowMs, policy_position);
  return [...counted].flatMap(([track, agents]) => {
    const max = maxAgentsIn(track, currentPolicy.max_agents_per_track);
    const isExceeded = max !== null && agents.size > max;
    const isEntered = [...agents].some((agent) => !before.get(track)?.has(agent));
    return isExceeded && isEntered ? [`${agents.size} agents in track ${track}; the limit is ${max}`] : [];
  });
}
