import { parseTaskId } from './task-id.js';

/** What a track expects where no number is set: one agent. Advice, never a refusal. */
export const AGENTS_PER_TRACK_ADVISED = 1;

export interface TrackClaim {
  readonly subject: string;
  readonly agent_id: string;
}

/** Who is at work in each track, from the claims that are live. Work outside the plan has no track. */
export function agentsByTrack(claims: Iterable<TrackClaim>): Map<string, Set<string>> {
  const tracks = new Map<string, Set<string>>();
  for (const { subject, agent_id } of claims) {
    const parsed = parseTaskId(subject);
    if (!parsed.ok) continue;
    const agents = tracks.get(parsed.id.track);
    if (agents === undefined) tracks.set(parsed.id.track, new Set([agent_id]));
    else agents.add(agent_id);
  }
  return tracks;
}

/** `crowded`: better to work elsewhere, but nothing forbids it. `full`: one more agent is refused. */
export type TrackCapacity = 'free' | 'crowded' | 'full';

/** An agent that already works in the track makes it no fuller. */
export function trackCapacity(
  agents: ReadonlySet<string> | undefined,
  agentId: string,
  maxAgentsPerTrack: number | null,
): TrackCapacity {
  if (agents === undefined || agents.has(agentId)) return 'free';
  if (maxAgentsPerTrack !== null) return agents.size >= maxAgentsPerTrack ? 'full' : 'free';
  return agents.size >= AGENTS_PER_TRACK_ADVISED ? 'crowded' : 'free';
}
