import type { Transition } from './methodology.js';

/** Keeps the file order, but moves transitions that close a cycle to the end. */
export function orderTransitions(transitions: readonly Transition[]): Transition[] {
  const forward: Transition[] = [];
  const feedback: Transition[] = [];
  const targetsBySource = new Map<string, string[]>();
  for (const transition of transitions) {
    const { source, target } = transition;
    if (isReachable(targetsBySource, target, source)) {
      feedback.push(transition);
      continue;
    }
    forward.push(transition);
    const targets = targetsBySource.get(source);
    if (targets === undefined) targetsBySource.set(source, [target]);
    else targets.push(target);
  }
  return [...forward, ...feedback];
}

function isReachable(
  targetsBySource: ReadonlyMap<string, readonly string[]>,
  from: string,
  to: string,
): boolean {
  const seen = new Set([from]);
  for (const here of seen) {
    if (here === to) return true;
    for (const there of targetsBySource.get(here) ?? []) seen.add(there);
  }
  return false;
}
