import { runAtOnce, type SliceableWork } from '../sliceable-work.js';
import type { Plan, PlanLookup } from './plan.js';
import {
  type PlannedTask,
  splitSubject,
  subtaskCount,
  subtaskDependencies,
  subtaskId,
  subtaskIds,
} from './task.js';

/**
 * Index of the start node of a task that has subtasks. Each subtask waits for all dependencies of its task. Graph edges for
 * every such pair would be too many, so the start node waits for the dependencies, and the subtasks wait for the start
 * node. It cannot be claimed. No subtask has the index 0, so the id is free.
 */
const START_INDEX = 0;
export const isStartNode = (node: string): boolean => node.endsWith('::0');
const startNodeOf = (task: PlannedTask): string =>
  subtaskCount(task) === 0 ? task.id : subtaskId(task.id, START_INDEX);

/** Dependencies of a task as a whole: those it names, otherwise the previous task in its track. */
export function taskDependencies(lookup: PlanLookup, task: PlannedTask): readonly string[] {
  if (task.depends_on !== null) return task.depends_on;
  const previousTask = lookup.taskBefore(task.track, task.sequence);
  return previousTask === undefined ? [] : [previousTask.id];
}

/**
 * Predecessors of a node, including start nodes. If a task gives only the number of its subtasks, they all wait for the
 * start node only, and the merge is connected directly to the start node: ten kilobytes of plan can declare a million such
 * subtasks.
 */
function predecessorsOf(lookup: PlanLookup, node: string): readonly string[] {
  const { task_id, subtask_index } = splitSubject(node);
  const task = lookup.task(task_id);
  if (task === undefined) return [];
  if (subtask_index === START_INDEX) return taskDependencies(lookup, task);
  if (subtask_index !== null) return [...subtaskDependencies(task, subtask_index), startNodeOf(task)];
  if (subtaskCount(task) === 0) return taskDependencies(lookup, task);
  return hasUnnamedSubtasks(task) ? [startNodeOf(task)] : subtaskIds(task);
}

export const hasUnnamedSubtasks = ({ subtasks }: PlannedTask): boolean =>
  typeof subtasks === 'number' && subtasks > 0;

/** The ids of all tasks. A walk from these roots reaches every node, because each task waits for its subtasks. */
export function* taskIdsOf(plan: Plan): Generator<string> {
  for (const task of plan.tasks()) yield task.id;
}

/** Dependencies of a subject. A subtask has its own and those of its task; a merge depends on its subtasks. */
export function dependenciesOf(lookup: PlanLookup, subject: string): readonly string[] {
  const { task_id, subtask_index } = splitSubject(subject);
  const task = lookup.task(task_id);
  if (task === undefined) return [];
  if (subtask_index === null)
    return subtaskCount(task) === 0 ? taskDependencies(lookup, task) : subtaskIds(task);
  return [...new Set([...taskDependencies(lookup, task), ...subtaskDependencies(task, subtask_index)])];
}

/** Subjects that wait for this one, in no particular order; may contain duplicates. */
export function* dependantsOf(plan: Plan, subject: string): Generator<string> {
  const planned = plan.get(subject);
  if (planned === undefined) return;
  for (const dependant of plan.explicitDependantsOf(subject)) yield* waitingSubjectsOf(plan, dependant);
  const { task, subtask_index } = planned;
  if (subtask_index !== null) yield task.id;
  const next = subtask_index === null ? plan.taskAfter(task.track, task.sequence) : undefined;
  if (next?.depends_on === null) yield* waitingSubjectsOf(plan, next.id);
}

/** The subjects of a task that wait for its dependencies: its subtasks, or the task itself if it has none. */
function waitingSubjectsOf(plan: Plan, id: string): string[] {
  const task = plan.task(id);
  return task === undefined || subtaskCount(task) === 0 ? [id] : subtaskIds(task);
}

interface WalkVisitor {
  /** Called once per node, after all its predecessors. */
  onLeave?(node: string, predecessors: readonly string[]): void;
  /** Called with each cycle; true stops the walk. */
  onCycle?(nodes: readonly string[]): boolean;
}

/** Depth-first walk along dependencies. Iterative: a chain of a million tasks would overflow the call stack. */
export function* walkInSlices(
  lookup: PlanLookup,
  roots: Iterable<string>,
  visitor: WalkVisitor,
): SliceableWork<void> {
  /** Visited nodes: true once all predecessors of the node are visited. */
  const finishedByNode = new Map<string, boolean>();
  for (const root of roots) {
    if (finishedByNode.has(root)) continue;
    const stack = [{ node: root, predecessors: predecessorsOf(lookup, root), nextIndex: 0 }];
    finishedByNode.set(root, false);
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const node = top.predecessors[top.nextIndex++];
      if (node === undefined) {
        stack.pop();
        finishedByNode.set(top.node, true);
        visitor.onLeave?.(top.node, top.predecessors);
        yield;
      } else if (!finishedByNode.has(node)) {
        finishedByNode.set(node, false);
        stack.push({ node, predecessors: predecessorsOf(lookup, node), nextIndex: 0 });
      } else if (finishedByNode.get(node) === false && visitor.onCycle !== undefined) {
        const nodes = stack.map((step) => step.node);
        if (visitor.onCycle(nodes.slice(nodes.indexOf(node)))) return;
      }
    }
  }
}

/** Finds dependency cycles: each subject waits for the next, and the last for the first. */
export function findPlanCycles(lookup: PlanLookup, roots: Iterable<string>, cyclesMax: number): string[][] {
  const cycles: string[][] = [];
  const onCycle = (nodes: readonly string[]): boolean => {
    cycles.push(nodes.filter((node) => !isStartNode(node)));
    return cycles.length >= cyclesMax;
  };
  runAtOnce(walkInSlices(lookup, roots, { onCycle }));
  return cycles;
}
