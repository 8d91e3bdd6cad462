import { isStart, walk } from './graph.js';
import type { Plan } from './plan.js';

/** Sums over paths grow exponentially; past this, more is not more, and adding stays exact. */
export const WEIGHT_MAX = 1e15;

const cache = new WeakMap<Plan, { revision: number; weights: ReadonlyMap<string, number> }>();

/** How much waits behind a subject: for each dependant one, and what waits behind that. */
export function weightOf(plan: Plan, subject: string): number {
  let held = cache.get(plan);
  if (held?.revision !== plan.revision) {
    held = { revision: plan.revision, weights: weigh(plan) };
    cache.set(plan, held);
  }
  return held.weights.get(subject) ?? 0;
}

/** Each step, once all that waits for it has been counted, hands its own weight on to what it waits for. */
function weigh(plan: Plan): ReadonlyMap<string, number> {
  const order: { node: string; waits: readonly string[] }[] = [];
  walk(plan, plan.subjects(), { leave: (node, waits) => order.push({ node, waits }) });
  const weights = new Map<string, number>();
  for (let step = order.pop(); step !== undefined; step = order.pop()) {
    const handed = (weights.get(step.node) ?? 0) + (isStart(step.node) ? 0 : 1);
    for (const id of step.waits) {
      weights.set(id, Math.min(WEIGHT_MAX, (weights.get(id) ?? 0) + handed));
    }
  }
  return weights;
}
