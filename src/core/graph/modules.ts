import type { ModuleMap } from './methodology.js';

export interface InnerProduct {
  /** How many modules both touch; null where nobody knows what one of them touches. */
  readonly count: number | null;
  readonly shared: readonly string[];
}

const UNKNOWN: InnerProduct = { count: null, shared: [] };

/**
 * How much two features have in common: the modules that both touch, directly or because a module they touch rests
 * on them. A feature that is not in the map is unknown, and that is never the same as sharing nothing.
 */
export function innerProduct(modules: ModuleMap | null, a: string, b: string): InnerProduct {
  const ofA = touchedModules(modules, a);
  const ofB = touchedModules(modules, b);
  if (ofA === null || ofB === null) return UNKNOWN;
  const shared = [...ofA].filter((module) => ofB.has(module)).sort();
  return { count: shared.length, shared };
}

/** The modules of a feature with all that they rest on. A graph that runs in circles is walked once. */
export function touchedModules(modules: ModuleMap | null, feature_id: string): ReadonlySet<string> | null {
  const direct = own(modules?.feature_module_map, feature_id);
  if (modules === null || direct === undefined) return null;
  const touched = new Set<string>();
  const ahead = [...direct];
  for (let module = ahead.pop(); module !== undefined; module = ahead.pop()) {
    if (touched.has(module)) continue;
    touched.add(module);
    ahead.push(...(own(modules.dependency_dag, module) ?? []));
  }
  return touched;
}

export interface WorkOrder {
  /** Modules that several of the features touch, each after those it rests on. */
  readonly shared_modules: readonly string[];
  /** Who shares the most goes first; features nobody knows the modules of come last. */
  readonly features: readonly string[];
}

/** What to build first when features share modules: the shared modules, then the feature that shares the most. */
export function suggestOrder(modules: ModuleMap | null, feature_ids: readonly string[]): WorkOrder {
  const touched = new Map([...new Set(feature_ids)].sort().map((id) => [id, touchedModules(modules, id)]));
  const users = new Map<string, number>();
  for (const set of touched.values()) for (const module of set ?? []) count(users, module);
  const shared = [...users.keys()].filter((module) => (users.get(module) ?? 0) > 1).sort();
  const sharing = (id: string): number => {
    const mine = touched.get(id) ?? null;
    return mine === null ? -1 : shared.filter((module) => mine.has(module)).length;
  };
  return {
    shared_modules: foundationsFirst(modules, shared),
    features: [...touched.keys()].sort((a, b) => sharing(b) - sharing(a)),
  };
}

const count = (times: Map<string, number>, key: string): void => {
  times.set(key, (times.get(key) ?? 0) + 1);
};

/** Without calling itself: a chain of modules may be longer than a stack is deep. */
function foundationsFirst(modules: ModuleMap | null, wanted: readonly string[]): string[] {
  const order = new Set<string>();
  const seen = new Set<string>();
  const ahead = [...wanted].reverse();
  for (let module = ahead.at(-1); module !== undefined; module = ahead.at(-1)) {
    const foundations = seen.has(module) ? [] : (own(modules?.dependency_dag, module) ?? []);
    seen.add(module);
    const unseen = foundations.filter((foundation) => !seen.has(foundation));
    if (unseen.length > 0) ahead.push(...unseen.reverse());
    else order.add(ahead.pop() as string);
  }
  const asked = new Set(wanted);
  return [...order].filter((module) => asked.has(module));
}

/** The maps come from a file, and a feature may be called `constructor`. */
function own(map: Readonly<Record<string, readonly string[]>> | undefined, key: string) {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}
