import type { StepGenerator } from '../steps.js';
import { hasCountedSubtasks, isStartNode, taskIdsOf, walkSteps } from './dependency-graph.js';
import type { Plan } from './plan.js';
import { splitSubject, subtaskCount } from './task.js';

/** Sums over paths grow exponentially; past this, more is not more, and adding stays exact. */
export const WEIGHT_MAX = 1e15;

/** What `weightSteps` computed: `weightOf` reads it. Counted subtasks that nothing names have no entry. */
export type Weights = ReadonlyMap<string, number>;

/** How much waits behind a subject: for each dependant one, and what waits behind that. */
export function weightOf(plan: Plan, weights: Weights, subject: string): number {
  const own = weights.get(subject) ?? 0;
  const { task_id, subtask_index } = splitSubject(subject);
  if (subtask_index === null) return own;
  const task = plan.task(task_id);
  if (task === undefined || !hasCountedSubtasks(task)) return own;
  return Math.min(WEIGHT_MAX, own + 1 + (weights.get(task_id) ?? 0));
}

/**
 * Each step, once all that waits for it has been counted, hands its own weight on to what it waits for. Subtasks that are
 * only counted are not steps: each has the weight that its merge hands on, and what others hand to it by name.
 */
export function* weightSteps(plan: Plan): StepGenerator<Weights> {
  const order: { node: string; waits: readonly string[] }[] = [];
  yield* walkSteps(plan, taskIdsOf(plan), {
    onLeave: (node, dependencies) => order.push({ node, waits: dependencies }),
  });
  const weights = new Map<string, number>();
  for (let entry = order.pop(); entry !== undefined; entry = order.pop()) {
    const propagated = propagatedWeight(plan, entry.node, weights.get(entry.node) ?? 0);
    for (const id of entry.waits) {
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
  if (task === undefined || !hasCountedSubtasks(task)) return weight + 1;
  // What the merge hands to each of them is handed on to the start here, once for all.
  return subtask_index === null ? subtaskCount(task) * (weight + 2) : weight;
}
