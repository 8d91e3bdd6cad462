import { trackOfTask } from './task-id.js';

/** Maximum number of agents in each track, or one number for all; null: unlimited. */
export type MaxAgentsPerTrack = number | Readonly<Record<string, number>> | null;

/** Maximum number of tracks with a limit of their own, so that the record of the policy stays small. */
export const LIMITED_TRACKS_MAX = 100;

/** Maximum number of agents in this track; null: unlimited. Work outside the plan is in no track. */
export function maxAgentsIn(track: string | null, max: MaxAgentsPerTrack): number | null {
  if (track === null) return null;
  if (max === null || typeof max === 'number') return max;
  return Object.hasOwn(max, track) ? (max[track] ?? null) : null;
}

/** Advised number of agents per track if the policy sets none. Never a reason to refuse. */
export const AGENTS_PER_TRACK_ADVISED = 1;

export interface TrackClaim {
  readonly subject: string;
  readonly agent_id: string;
}

/** Agents per track, from live claims. Subjects that are not tasks, such as edges, have no track. */
export function agentsByTrack(claims: Iterable<TrackClaim>): Map<string, Set<string>> {
  const tracks = new Map<string, Set<string>>();
  for (const { subject, agent_id } of claims) {
    const track = trackOfTask(subject);
    if (track === null) continue;
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
  agentsMax: number | null,
): TrackCapacity {
  if (agents === undefined || agents.has(agentId)) return 'free';
  if (agentsMax !== null) return agents.size >= agentsMax ? 'full' : 'free';
  return agents.size >= AGENTS_PER_TRACK_ADVISED ? 'crowded' : 'free';
}
