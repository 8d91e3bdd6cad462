import { ownValue } from '../../own-value.js';
import type { ModuleMap } from './methodology.js';

interface ModuleOverlap {
  /** Number of modules that both features touch; null if the modules of either feature are unknown. */
  readonly count: number | null;
  readonly shared: readonly string[];
}

/**
 * Overlap of two features: the modules that both touch, directly or through dependencies. For a feature that is not in
 * the map the overlap is unknown, not empty.
 */
export function moduleOverlap(modules: ModuleMap | null, a: string, b: string): ModuleOverlap {
  const modulesOfA = touchedModules(modules, a);
  const modulesOfB = touchedModules(modules, b);
  if (modulesOfA === null || modulesOfB === null) return { count: null, shared: [] };
  const shared = [...modulesOfA].filter((module) => modulesOfB.has(module)).sort();
  return { count: shared.length, shared };
}

/** The modules of a feature with all their dependencies. Each module is visited once, so cycles are harmless. */
export function touchedModules(modules: ModuleMap | null, featureId: string): ReadonlySet<string> | null {
  const direct = ownValue(modules?.feature_module_map, featureId);
  if (modules === null || direct === undefined) return null;
  const touched = new Set<string>();
  const pending = [...direct];
  for (let module = pending.pop(); module !== undefined; module = pending.pop()) {
    if (touched.has(module)) continue;
    touched.add(module);
    pending.push(...(ownValue(modules.dependency_dag, module) ?? []));
  }
  return touched;
}

interface WorkOrder {
  /** Modules that several of the features touch, each after its dependencies. */
  readonly shared_modules: readonly string[];
  /** Features by number of shared modules, most first; features with unknown modules come last. */
  readonly features: readonly string[];
}

/** Suggests an order for features that share modules: shared modules first, then the features that share most. */
export function suggestWorkOrder(modules: ModuleMap | null, featureIds: readonly string[]): WorkOrder {
  const touched = new Map([...new Set(featureIds)].sort().map((id) => [id, touchedModules(modules, id)]));
  const featureCounts = new Map<string, number>();
  for (const featureModules of touched.values()) {
    for (const module of featureModules ?? [])
      featureCounts.set(module, (featureCounts.get(module) ?? 0) + 1);
  }
  const shared = [...featureCounts.keys()].filter((module) => (featureCounts.get(module) ?? 0) > 1).sort();
  const sharedCount = (id: string): number => {
    const modulesOfFeature = touched.get(id) ?? null;
    return modulesOfFeature === null ? -1 : shared.filter((module) => modulesOfFeature.has(module)).length;
  };
  return {
    shared_modules: dependenciesFirst(modules, shared),
    features: [...touched.keys()].sort((a, b) => sharedCount(b) - sharedCount(a)),
  };
}

/** Sorts modules after their dependencies. Iterative: a chain of modules may be deeper than the call stack. */
function dependenciesFirst(modules: ModuleMap | null, requested: readonly string[]): string[] {
  const order = new Set<string>();
  const visited = new Set<string>();
  const stack = [...requested].reverse();
  for (let module = stack.at(-1); module !== undefined; module = stack.at(-1)) {
    const dependencies = visited.has(module) ? [] : (ownValue(modules?.dependency_dag, module) ?? []);
    visited.add(module);
    const unvisited = dependencies.filter((dependency) => !visited.has(dependency));
    if (unvisited.length > 0) stack.push(...unvisited.reverse());
    else order.add(stack.pop() as string);
  }
  const requestedSet = new Set(requested);
  return [...order].filter((module) => requestedSet.has(module));
}
