import type { Feature } from './methodology.js';

/** Dependency cycles of features, as `findDependencyCycles` returns them. */
export function featureCycles(features: readonly Feature[], cyclesMax?: number): string[][] {
  const dependsOn = features.map(
    ({ feature_id, dependencies }) => [feature_id, dependencies.map(({ feature }) => feature)] as const,
  );
  return findDependencyCycles(new Map(dependsOn), cyclesMax);
}

/**
 * Finds dependency cycles by a depth-first search, each with its first name repeated at the end. Of cycles that share
 * names some may be left out. Not recursive, because a long chain of dependencies would overflow the call stack.
 */
export function findDependencyCycles(
  dependsOn: ReadonlyMap<string, readonly string[]>,
  cyclesMax = Number.POSITIVE_INFINITY,
): string[][] {
  const cycles: string[][] = [];
  const finished = new Set<string>();
  const depthByName = new Map<string, number>();
  for (const start of dependsOn.keys()) {
    const path: { readonly name: string; nextIndex: number }[] = finished.has(start)
      ? []
      : [{ name: start, nextIndex: 0 }];
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      depthByName.set(node.name, path.length - 1);
      const target = dependsOn.get(node.name)?.[node.nextIndex];
      node.nextIndex += 1;
      if (target === undefined) {
        finished.add(node.name);
        depthByName.delete(node.name);
        path.pop();
        continue;
      }
      const cycleStart = depthByName.get(target);
      if (cycleStart !== undefined) cycles.push([...path.slice(cycleStart).map(({ name }) => name), target]);
      else if (!finished.has(target) && dependsOn.has(target)) path.push({ name: target, nextIndex: 0 });
      if (cycles.length >= cyclesMax) return cycles;
    }
  }
  return cycles;
}
