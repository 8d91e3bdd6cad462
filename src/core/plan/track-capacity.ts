import { parseTaskId } from './task-id.js';

/** Advised number of agents per track if the policy sets none. Never a reason to refuse. */
export const AGENTS_PER_TRACK_ADVISED = 1;

export interface TrackClaim {
  readonly subject: string;
  readonly agent_id: string;
}

/** Agents per track, from live claims. Subjects outside the plan have no track. */
export function agentsByTrack(claims: Iterable<TrackClaim>): Map<string, Set<string>> {
  const tracks = new Map<string, Set<string>>();
  for (const { subject, agent_id } of claims) {
    const parsed = parseTaskId(subject);
    if (!parsed.ok) continue;
    const { track } = parsed.id;
    tracks.set(track, (tracks.get(track) ?? new Set()).add(agent_id));
  }
  return tracks;
}

/** `crowded`: another track is preferable, but nothing forbids it. `full`: another agent is refused. */
export type TrackCapacity = 'free' | 'crowded' | 'full';

/** Capacity for one more agent; an agent that already works in the track does not count again. */
export function trackCapacity(
  agents: ReadonlySet<string> | undefined,
  agentId: string,
  maxAgentsPerTrack: number | null,
): TrackCapacity {
  if (agents === undefined || agents.has(agentId)) return 'free';
  if (maxAgentsPerTrack !== null) return agents.size >= maxAgentsPerTrack ? 'full' : 'free';
  return agents.size >= AGENTS_PER_TRACK_ADVISED ? 'crowded' : 'free';
}
