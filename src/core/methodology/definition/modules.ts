import { ownValue } from '../../own-value.js';
import type { ModuleMap } from './methodology.js';

interface InnerProduct {
  /** Number of modules that both features touch; null if the modules of one are unknown. */
  readonly count: number | null;
  readonly shared: readonly string[];
}

/**
 * Overlap of two features: the modules that both touch, directly or through dependencies. A feature that is not in the
 * map is unknown, which is not the same as no overlap.
 */
export function innerProduct(modules: ModuleMap | null, a: string, b: string): InnerProduct {
  const ofA = touchedModules(modules, a);
  const ofB = touchedModules(modules, b);
  if (ofA === null || ofB === null) return { count: null, shared: [] };
  const shared = [...ofA].filter((module) => ofB.has(module)).sort();
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
  const users = new Map<string, number>();
  for (const set of touched.values()) {
    for (const module of set ?? []) users.set(module, (users.get(module) ?? 0) + 1);
  }
  const shared = [...users.keys()].filter((module) => (users.get(module) ?? 0) > 1).sort();
  const sharedCount = (id: string): number => {
    const modulesOfFeature = touched.get(id) ?? null;
    return modulesOfFeature === null ? -1 : shared.filter((module) => modulesOfFeature.has(module)).length;
  };
  return {
    shared_modules: dependenciesFirst(modules, shared),
    features: [...touched.keys()].sort((a, b) => sharedCount(b) - sharedCount(a)),
  };
}

/** Iterative: a chain of modules may be deeper than the call stack. */
function dependenciesFirst(modules: ModuleMap | null, requested: readonly string[]): string[] {
  const order = new Set<string>();
  const seen = new Set<string>();
  const stack = [...requested].reverse();
  for (let module = stack.at(-1); module !== undefined; module = stack.at(-1)) {
    const dependencies = seen.has(module) ? [] : (ownValue(modules?.dependency_dag, module) ?? []);
    seen.add(module);
    const unseen = dependencies.filter((dependency) => !seen.has(dependency));
    if (unseen.length > 0) stack.push(...unseen.reverse());
    else order.add(stack.pop() as string);
  }
  const requestedSet = new Set(requested);
  return [...order].filter((module) => requestedSet.has(module));
}
