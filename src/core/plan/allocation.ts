import { parseTaskId } from './task-id.js';

/** What a track expects where no number is set: one agent. Advice, never a refusal. */
export const AGENTS_PER_TRACK_ADVISED = 1;

export interface WorkInTrack {
  readonly subject: string;
  readonly agent_id: string;
}

/** Who is at work in each track, from the claims that are live. Work outside the plan has no track. */
export function agentsInTrack(claims: Iterable<WorkInTrack>): Map<string, Set<string>> {
  const tracks = new Map<string, Set<string>>();
  for (const { subject, agent_id } of claims) {
    const reading = parseTaskId(subject);
    if (!reading.ok) continue;
    const agents = tracks.get(reading.id.track);
    if (agents === undefined) tracks.set(reading.id.track, new Set([agent_id]));
    else agents.add(agent_id);
  }
  return tracks;
}

/** `crowded`: better to work elsewhere, but nothing forbids it. `full`: one more agent is refused. */
export type TrackRoom = 'free' | 'crowded' | 'full';

/** An agent that already works in the track makes it no fuller. */
export function trackRoom(
  agents: ReadonlySet<string> | undefined,
  agent_id: string,
  max_agents_per_track: number | null,
): TrackRoom {
  if (agents === undefined || agents.has(agent_id)) return 'free';
  if (max_agents_per_track !== null) return agents.size >= max_agents_per_track ? 'full' : 'free';
  return agents.size >= AGENTS_PER_TRACK_ADVISED ? 'crowded' : 'free';
}
