import type { Feature } from './methodology.js';

/** Dependency cycles of features, as `findClosedCycles` returns them. */
export function featureCycles(features: readonly Feature[], cyclesMax?: number): string[][] {
  const dependsOn = features.map(
    ({ feature_id, dependencies }) => [feature_id, dependencies.map(({ feature }) => feature)] as const,
  );
  return findClosedCycles(new Map(dependsOn), cyclesMax);
}

/** Finds each dependency cycle once, with its first name repeated at the end. Iterative: chains may be long. */
export function findClosedCycles(
  dependsOn: ReadonlyMap<string, readonly string[]>,
  cyclesMax = Number.POSITIVE_INFINITY,
): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const depthOf = new Map<string, number>();
  for (const start of dependsOn.keys()) {
    const path: { readonly name: string; next: number }[] = done.has(start) ? [] : [{ name: start, next: 0 }];
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      depthOf.set(node.name, path.length - 1);
      const target = dependsOn.get(node.name)?.[node.next];
      node.next += 1;
      if (target === undefined) {
        done.add(node.name);
        depthOf.delete(node.name);
        path.pop();
        continue;
      }
      const from = depthOf.get(target);
      if (from !== undefined) cycles.push([...path.slice(from).map(({ name }) => name), target]);
      else if (!done.has(target) && dependsOn.has(target)) path.push({ name: target, next: 0 });
      if (cycles.length >= cyclesMax) return cycles;
    }
  }
  return cycles;
}
