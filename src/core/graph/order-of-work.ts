import type { Transition } from './methodology.js';

/** As the file has them; those that lead back to where work began come last. */
export function inOrderOfWork(transitions: readonly Transition[]): Transition[] {
  const forward: Transition[] = [];
  const back: Transition[] = [];
  const next = new Map<string, string[]>();
  for (const transition of transitions) {
    const { source, target } = transition;
    if (reaches(next, target, source)) {
      back.push(transition);
      continue;
    }
    forward.push(transition);
    const targets = next.get(source);
    if (targets === undefined) next.set(source, [target]);
    else targets.push(target);
  }
  return [...forward, ...back];
}

function reaches(next: ReadonlyMap<string, readonly string[]>, from: string, to: string): boolean {
  const seen = new Set([from]);
  for (const here of seen) {
    if (here === to) return true;
    for (const there of next.get(here) ?? []) seen.add(there);
  }
  return false;
}
