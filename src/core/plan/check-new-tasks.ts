import type { DocumentPath } from '../yaml/source-position.js';
import { findPlanCycles, taskIdsOf } from './dependency-graph.js';
import { Plan, type PlanLookup } from './plan.js';
import { FAULTS_MAX, type PlanFaultList } from './plan-faults.js';
import { type PlannedTask, splitSubject, subtaskCount, subtaskId } from './task.js';
import { parseTaskId } from './task-id.js';

/** Maximum number of tasks and subtasks in a project. */
export const PLAN_SUBJECTS_MAX = 1_000_000;
const CYCLE_SHOWN_MAX = 12;

/** A task to add to the plan, and its location in the document. */
export interface NewTask {
  readonly task: PlannedTask;
  readonly path: DocumentPath;
  /** Whether the task is in the plan already and only gets more subtasks. */
  readonly adds_subtasks: boolean;
  /** Locations of its subtasks by index, if they are written outside the task. */
  readonly subtask_paths?: ReadonlyMap<number, DocumentPath>;
}

/**
 * Checks new tasks together with the plan to which they are added. Returns the tasks that could be placed, as a separate
 * plan. `faultyTaskIds`: tasks that could not be parsed; a dependency on one of them is not reported as unknown.
 */
export function checkNewTasks(
  base: Plan,
  newTasks: readonly NewTask[],
  faultyTaskIds: ReadonlySet<string>,
  faults: PlanFaultList,
): Plan {
  const added = new Plan();
  const placed = placeNewTasks(base, added, newTasks, faults);
  let replaced = 0;
  for (const { adds_subtasks, task } of newTasks) {
    if (adds_subtasks) replaced += 1 + subtaskCount(base.task(task.id) ?? task);
  }
  const subjectCount = base.subject_count - replaced + added.subject_count;
  if (subjectCount > PLAN_SUBJECTS_MAX) {
    const message = `The plan would have ${subjectCount} tasks and subtasks; at most ${PLAN_SUBJECTS_MAX} are allowed in a project. Add fewer, or use another project.`;
    faults.add('TOO_MANY_TASKS', newTasks[0]?.path.slice(0, 1) ?? [], message);
    return added;
  }
  const lookup = mergedLookup(base, added);
  for (const newTask of placed.values()) {
    const validTask = checkDependencies(newTask, lookup, faultyTaskIds, faults);
    if (validTask !== newTask.task) added.put(validTask);
  }
  const addedLookup: PlanLookup = { ...lookup, task: (id) => added.task(id) };
  addCycleFaults(hasDependantOnAdded(base, added) ? lookup : addedLookup, added, placed, faults);
  return added;
}

/** Whether a task of the plan depends on an added task. If not, a new cycle contains only added tasks. */
function hasDependantOnAdded(base: Plan, added: Plan): boolean {
  for (const { id, track, sequence } of added.tasks()) {
    if (base.task(id) !== undefined || base.taskAfter(track, sequence)?.depends_on === null) return true;
  }
  return false;
}

/** The plan as it would be after the addition: the added tasks overlay those of the plan. No task is removed. */
function mergedLookup(base: Plan, added: Plan): PlanLookup {
  return {
    task: (taskId) => added.task(taskId) ?? base.task(taskId),
    taskBefore(track, sequence) {
      const addedTask = added.taskBefore(track, sequence);
      const baseTask = base.taskBefore(track, sequence);
      return (addedTask?.sequence ?? 0) >= (baseTask?.sequence ?? 0) ? addedTask : baseTask;
    },
  };
}

/** Puts the new tasks into `added` and returns them by id. Reports duplicate ids and duplicate sequence numbers. */
function placeNewTasks(base: Plan, added: Plan, newTasks: readonly NewTask[], faults: PlanFaultList) {
  const placed = new Map<string, NewTask>();
  for (const newTask of newTasks) {
    const { task, path } = newTask;
    const duplicate = placed.get(task.id);
    const occupant = added.taskAt(task.track, task.sequence) ?? base.taskAt(task.track, task.sequence);
    if (!newTask.adds_subtasks && (duplicate !== undefined || base.task(task.id) !== undefined)) {
      const location =
        duplicate === undefined
          ? 'already in the plan'
          : `also at ${faults.describeLocation(duplicate.path)}`;
      faults.add('DUPLICATE_ID', [...path, 'id'], `${task.id} is ${location}; ids must be unique.`);
    } else if (!newTask.adds_subtasks && occupant !== undefined) {
      const message = `${task.id} has the same sequence number as ${occupant.id}; choose another number in track ${task.track}.`;
      faults.add('DUPLICATE_SEQUENCE', [...path, 'id'], message);
    } else {
      placed.set(task.id, newTask);
      added.put(task);
    }
  }
  return placed;
}

/** Reports unknown dependencies and self-dependencies. Returns the task without them. */
function checkDependencies(
  { task, path, subtask_paths }: NewTask,
  lookup: PlanLookup,
  faultyTaskIds: ReadonlySet<string>,
  faults: PlanFaultList,
): PlannedTask {
  let faultCount = 0;
  const validDependencies = (owner: string, ids: readonly string[], at: DocumentPath): string[] =>
    ids.filter((id, index) => {
      const fault = dependencyFault(owner, id, lookup, faultyTaskIds);
      if (fault === null) return true;
      faults.add(fault.code, [...at, 'depends_on', index], fault.message);
      faultCount += 1;
      return false;
    });
  const depends_on = task.depends_on === null ? null : validDependencies(task.id, task.depends_on, path);
  let { subtasks } = task;
  if (typeof subtasks !== 'number') {
    subtasks = subtasks.map((subtask, index) => {
      if (subtask.depends_on === undefined) return subtask;
      const subtaskPath = subtask_paths?.get(index + 1) ?? [...path, 'subtasks', index];
      return {
        ...subtask,
        depends_on: validDependencies(subtaskId(task.id, index + 1), subtask.depends_on, subtaskPath),
      };
    });
  }
  return faultCount === 0 ? task : { ...task, depends_on, subtasks };
}

function dependencyFault(owner: string, id: string, lookup: PlanLookup, faultyTaskIds: ReadonlySet<string>) {
  const parsed = parseTaskId(id);
  if (!parsed.ok) return { code: 'BAD_ID' as const, message: parsed.message };
  if (id === owner) {
    const message = `${id} cannot depend on itself; remove it from depends_on.`;
    return { code: 'SELF_DEPENDENCY' as const, message };
  }
  if (parsed.id.parent === owner) {
    const message = `${owner} cannot depend on its own subtask ${id}; remove it from depends_on. A task always waits for its subtasks.`;
    return { code: 'SELF_DEPENDENCY' as const, message };
  }
  const { task_id, subtask_index } = splitSubject(id);
  const task = lookup.task(task_id);
  if (task === undefined) {
    if (faultyTaskIds.has(task_id)) return null;
    const message = `${owner} depends on ${id}, which is not in the plan; add it or correct the id.`;
    return { code: 'UNKNOWN_DEPENDENCY' as const, message };
  }
  if ((subtask_index ?? 0) <= subtaskCount(task)) return null;
  const message = `${owner} depends on ${id}, but ${task_id} has ${subtaskCount(task)} subtasks; correct the id.`;
  return { code: 'UNKNOWN_DEPENDENCY' as const, message };
}

function addCycleFaults(
  lookup: PlanLookup,
  added: Plan,
  placed: ReadonlyMap<string, NewTask>,
  faults: PlanFaultList,
): void {
  // A new cycle leads through a new task, so a search from the new tasks finds it.
  for (const cycle of findPlanCycles(lookup, taskIdsOf(added), FAULTS_MAX)) {
    const first = cycle.findIndex((id) => placed.has(splitSubject(id).task_id));
    const rotated = [...cycle.slice(first), ...cycle.slice(0, first)];
    const newTask = placed.get(splitSubject(rotated[0] ?? '').task_id);
    if (newTask === undefined) continue;
    const message = `Dependency cycle: ${cycleText(rotated)}. Remove one of these dependencies (a task without depends_on waits for the task before it in its track).`;
    faults.add('CYCLE', [...newTask.path, 'depends_on'], message);
  }
}

function cycleText(cycle: readonly string[]): string {
  const shown = cycle.slice(0, CYCLE_SHOWN_MAX);
  const more = cycle.length - shown.length;
  return [...shown, ...(more > 0 ? [`… ${more} more …`] : []), cycle[0]].join(' → ');
}
