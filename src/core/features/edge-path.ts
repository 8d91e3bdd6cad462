import type { Profile, Topology, Transition } from '../graph/methodology.js';
import { profileEdges } from '../graph/profile.js';

/** One edge of a profile. */
export interface PathStep {
  readonly edge: string;
  readonly transition: Transition;
  readonly optional: boolean;
  /** Edges of the profile that must converge before this one has anything to work from. */
  readonly needs: readonly string[];
}

/** The way through the graph that a profile prescribes, in order of work. */
export function edgePathOf(profile: Profile, topology: Topology): PathStep[] {
  const indexByEdge = new Map(topology.transitions.map((transition, index) => [transition.edge, index]));
  const listed = profileEdges(profile, topology);
  const required = new Set(listed.filter(({ optional }) => !optional).map(({ edge }) => edge));
  return listed.flatMap(({ edge, optional }) => {
    const index = indexByEdge.get(edge);
    const transition = index === undefined ? undefined : topology.transitions[index];
    if (index === undefined || transition === undefined) return [];
    return { edge, transition, optional, needs: requiredEdges(index, required, topology.transitions) };
  });
}

/**
 * Where the profile leaves out the edge that makes an edge's source, the work starts from what comes before it. Only
 * edges further up in the order count, so that the feedback edge closes no circle.
 */
function requiredEdges(
  startIndex: number,
  required: ReadonlySet<string>,
  order: readonly Transition[],
): string[] {
  const needs: string[] = [];
  const seen = new Set([startIndex]);
  for (const current of seen) {
    for (let index = 0; index < current; index += 1) {
      const producer = order[index];
      if (producer === undefined || producer.target !== order[current]?.source) continue;
      if (!required.has(producer.edge)) seen.add(index);
      else if (!needs.includes(producer.edge)) needs.push(producer.edge);
    }
  }
  return needs;
}
