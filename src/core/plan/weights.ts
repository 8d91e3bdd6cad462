import type { SliceableWork } from '../sliceable-work.js';
import { hasUnnamedSubtasks, isStartNode, taskIdsOf, walkInSlices } from './dependency-graph.js';
import type { Plan } from './plan.js';
import { splitSubject, subtaskCount } from './task.js';

/** Maximum weight. Sums over paths grow exponentially; up to this value, addition stays exact. */
export const WEIGHT_MAX = 1e15;

/**
 * Result of `weighInSlices`, read by `weightOf`. Subtasks that are given as a count have no entry, unless a dependency names
 * them.
 */
export type Weights = ReadonlyMap<string, number>;

/** How much a subject blocks: one per dependant, plus the weight of that dependant. */
export function weightOf(plan: Plan, weights: Weights, subject: string): number {
  const directWeight = weights.get(subject) ?? 0;
  const { task_id, subtask_index } = splitSubject(subject);
  if (subtask_index === null) return directWeight;
  const task = plan.task(task_id);
  if (task === undefined || !hasUnnamedSubtasks(task)) return directWeight;
  return Math.min(WEIGHT_MAX, directWeight + 1 + (weights.get(task_id) ?? 0));
}

/**
 * Computes weights: when the weight of a node is complete, it is passed on to its dependencies. Subtasks
 * given as a count are nodes only if a dependency names them. The weight of each is what its merge passes on,
 * plus the weight from dependants that name it.
 */
export function* weighInSlices(plan: Plan): SliceableWork<Weights> {
  const order: { node: string; dependencies: readonly string[] }[] = [];
  yield* walkInSlices(plan, taskIdsOf(plan), {
    onLeave: (node, dependencies) => order.push({ node, dependencies }),
  });
  const weights = new Map<string, number>();
  for (let entry = order.pop(); entry !== undefined; entry = order.pop()) {
    const propagated = propagatedWeight(plan, entry.node, weights.get(entry.node) ?? 0);
    for (const id of entry.dependencies) {
      weights.set(id, Math.min(WEIGHT_MAX, (weights.get(id) ?? 0) + propagated));
    }
    yield;
  }
  return weights;
}

function propagatedWeight(plan: Plan, node: string, weight: number): number {
  if (isStartNode(node)) return weight;
  const { task_id, subtask_index } = splitSubject(node);
  const task = plan.task(task_id);
  if (task === undefined || !hasUnnamedSubtasks(task)) return weight + 1;
  // Each of the counted subtasks would have the weight `weight + 1` and pass `weight + 2` to the start node. The merge
  // passes the sum.
  return subtask_index === null ? subtaskCount(task) * (weight + 2) : weight;
}
