import type { PlanTask } from './plan-tasks.js';

type Node = Pick<PlanTask, 'id' | 'dependencies'>;

/**
 * The tasks in an order in which each comes after its dependencies. Dependencies on tasks outside of the list are ignored.
 * Tasks of a cycle, and tasks that depend on them, are left out.
 */
export function dependencyOrder<T extends Node>(tasks: readonly T[]): T[] {
  const taskOf = new Map(tasks.map((task) => [task.id, task]));
  const openCountOf = new Map<string, number>();
  const dependants = new Map<string, T[]>();
  for (const task of tasks) {
    const listedDependencies = task.dependencies.filter((id) => taskOf.has(id));
    openCountOf.set(task.id, listedDependencies.length);
    for (const id of listedDependencies) {
      const dependantsOfTask = dependants.get(id) ?? [];
      dependantsOfTask.push(task);
      dependants.set(id, dependantsOfTask);
    }
  }
  const order = tasks.filter(({ id }) => openCountOf.get(id) === 0);
  for (let next = 0; next < order.length; next++) {
    for (const task of dependants.get((order[next] as T).id) ?? []) {
      const openCount = (openCountOf.get(task.id) as number) - 1;
      openCountOf.set(task.id, openCount);
      if (openCount === 0) order.push(task);
    }
  }
  return order;
}

/** The longest chain of tasks that are not completed, in the order in which they can be done. */
export function criticalPath(tasks: readonly PlanTask[]): string[] {
  const open = tasks.filter(({ isCompleted }) => !isCompleted);
  const lengthOf = new Map<string, number>();
  const previousOf = new Map<string, string>();
  let last: string | undefined;
  for (const { id, dependencies } of dependencyOrder(open)) {
    let length = 1;
    for (const dependency of dependencies) {
      const candidate = (lengthOf.get(dependency) ?? 0) + 1;
      if (candidate <= length) continue;
      length = candidate;
      previousOf.set(id, dependency);
    }
    lengthOf.set(id, length);
    if (last === undefined || length > (lengthOf.get(last) as number)) last = id;
  }
  const path: string[] = [];
  for (let id = last; id !== undefined; id = previousOf.get(id)) path.push(id);
  return path.reverse();
}
