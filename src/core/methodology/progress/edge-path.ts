import type { Profile, Topology, Transition } from '../definition/methodology.js';
import { profileEdges } from '../definition/profile.js';

export interface PathStep {
  readonly edge: string;
  readonly transition: Transition;
  readonly optional: boolean;
  /** Edges of the profile that must converge before this edge can start. */
  readonly needs: readonly string[];
}

/** The edges that a profile prescribes, in the order of work. */
export function edgePathOf(profile: Profile, topology: Topology): PathStep[] {
  const order = topology.transitions;
  const pathEdges = profileEdges(profile, topology);
  const required = new Set(pathEdges.filter(({ optional }) => !optional).map(({ edge }) => edge));
  return pathEdges.map(({ edge, optional }) => {
    const index = order.findIndex((transition) => transition.edge === edge);
    const transition = order[index] as Transition;
    return { edge, transition, optional, needs: requiredEdges(index, required, order) };
  });
}

/**
 * Edges that must converge first: those that produce the source asset. If the profile omits such an edge, or has it as an
 * optional one, the edges before it count instead. Only earlier edges count, so that the feedback edge creates no cycle.
 */
function requiredEdges(
  startIndex: number,
  required: ReadonlySet<string>,
  order: readonly Transition[],
): string[] {
  const needs: string[] = [];
  const visited = new Set([startIndex]);
  for (const current of visited) {
    for (let index = 0; index < current; index += 1) {
      const producer = order[index];
      if (producer === undefined || producer.target !== order[current]?.source) continue;
      if (!required.has(producer.edge)) visited.add(index);
      else if (!needs.includes(producer.edge)) needs.push(producer.edge);
    }
  }
  return needs;
}
