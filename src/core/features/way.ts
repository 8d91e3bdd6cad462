import type { Profile, Topology, Transition } from '../graph/methodology.js';
import { edgesOf } from '../graph/profile.js';

/** One edge of a profile. */
export interface Stage {
  readonly edge: string;
  readonly transition: Transition;
  readonly optional: boolean;
  /** Edges of the profile that must converge before this one has anything to work from. */
  readonly needs: readonly string[];
}

/** The way through the graph that a profile prescribes, in order of work. */
export function wayOf(profile: Profile, topology: Topology): Stage[] {
  const places = new Map(topology.transitions.map((transition, place) => [transition.edge, place]));
  const listed = edgesOf(profile, topology);
  const required = new Set(listed.filter(({ optional }) => !optional).map(({ edge }) => edge));
  return listed.flatMap(({ edge, optional }) => {
    const place = places.get(edge);
    const transition = place === undefined ? undefined : topology.transitions[place];
    if (place === undefined || transition === undefined) return [];
    return { edge, transition, optional, needs: needsOf(place, required, topology.transitions) };
  });
}

/**
 * Where the profile leaves out the edge that makes an edge's source, the work starts from what comes before it. Only
 * edges further up in the order count, so that the feedback edge closes no circle.
 */
function needsOf(of: number, required: ReadonlySet<string>, order: readonly Transition[]): string[] {
  const needs: string[] = [];
  const seen = new Set([of]);
  for (const here of seen) {
    for (let place = 0; place < here; place += 1) {
      const maker = order[place];
      if (maker === undefined || maker.target !== order[here]?.source) continue;
      if (!required.has(maker.edge)) seen.add(place);
      else if (!needs.includes(maker.edge)) needs.push(maker.edge);
    }
  }
  return needs;
}
