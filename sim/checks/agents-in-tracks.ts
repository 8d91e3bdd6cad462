import { planPositionOf } from '../../src/core/plan/plan-position.js';
import { maxAgentsIn } from '../../src/core/plan/track-capacity.js';
import type { ProjectMonitor } from './project-monitor.js';

type AgentsInTracks = ReadonlyMap<string, ReadonlySet<string>>;

/** The agents with live claims now, by track. Grants before `fromPosition` of the log do not count. */
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
 * Describes the tracks that a commit has brought above the limit. Agents that were in the track before the limit was set
 * may stay, so only a commit that brings another agent into the track counts.
 */
export function overfilledTracks(
  projectMonitor: ProjectMonitor,
  nowMs: number,
  agentsBefore: AgentsInTracks,
): string[] {
  const { currentPolicy, policy_position } = projectMonitor;
  const agentsNow = agentsInTracks(projectMonitor, nowMs, policy_position);
  return [...agentsNow].flatMap(([track, agents]) => {
    const max = maxAgentsIn(track, currentPolicy.max_agents_per_track);
    const isExceeded = max !== null && agents.size > max;
    const hasNewAgent = [...agents].some((agent) => !agentsBefore.get(track)?.has(agent));
    return isExceeded && hasNewAgent ? [`${agents.size} agents in track ${track}; the limit is ${max}`] : [];
  });
}
