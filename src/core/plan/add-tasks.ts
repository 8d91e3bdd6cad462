import { z } from 'zod';
import { checkJsonShape, parseWithSchema } from '../yaml/check-shape.js';
import type { DocumentPath } from '../yaml/source-position.js';
import { checkNewTasks, type NewTask } from './check-new-tasks.js';
import type { Plan, PlanChange } from './plan.js';
import { type PlanFault, PlanFaultList } from './plan-faults.js';
import { checkSubtaskGrowth, type StartedTasks } from './started-tasks.js';
import {
  type PlannedTask,
  plannedTask,
  type SubtaskInput,
  subtaskCount,
  subtaskDescription,
  subtaskId,
  type TaskInput,
  taskInput,
  validTaskId,
} from './task.js';
import { isTaskId, parseTaskId, type TaskId } from './task-id.js';
import { subtaskInputSchema, taskInputSchema } from './task-schema.js';

/** A subtask on its own: its id, such as `A-001-x::4`, names the task it belongs to. */
const addedSubtaskSchema = subtaskInputSchema.extend({ id: z.string().min(1) });
export type AddedSubtask = z.infer<typeof addedSubtaskSchema>;

export type AddTasksResult =
  | { readonly ok: true; readonly change: PlanChange }
  | { readonly ok: false; readonly faults: readonly PlanFault[] };

interface SubtaskAddition {
  readonly id: TaskId;
  readonly subtask: SubtaskInput;
  readonly path: DocumentPath;
}

/** An empty set of tasks to add. Each item is parsed on its own, without the other items and without the plan. */
const noTaskItems = () => ({
  newTasks: [] as NewTask[],
  additions: new Map<string, SubtaskAddition[]>(),
  faultyTaskIds: new Set<string>(),
  faults: new PlanFaultList(),
});
export type ParsedTaskItems = ReturnType<typeof noTaskItems>;

/**
 * Adds tasks, and subtasks of existing tasks, and checks them by the rules of a whole plan. Returns the change; the plan
 * itself is not modified.
 */
export const addTasks = (plan: Plan, tasks: unknown, startedTasks: StartedTasks): AddTasksResult =>
  addTaskItems(plan, readTaskItems(tasks), startedTasks);

/** Parses the tasks and reports the faults that can be found without the plan. */
export function readTaskItems(tasks: unknown): ParsedTaskItems {
  const items = noTaskItems();
  const { faults, faultyTaskIds } = items;
  if (!Array.isArray(tasks)) {
    faults.add('BAD_VALUE', ['tasks'], '"tasks" must be a list of tasks.');
    return items;
  }
  for (const [index, item] of tasks.entries()) {
    if (faults.isFull) break;
    const path = ['tasks', index];
    const rawId = (item as { id?: unknown } | null)?.id;
    const parsed = typeof rawId === 'string' ? parseTaskId(rawId) : null;
    if (parsed !== null && !parsed.ok) faults.add('BAD_ID', [...path, 'id'], parsed.message);
    const id = parsed?.ok ? parsed.id : null;
    if (!checkJsonShape(item, [...path], faults)) continue;
    if (id?.parent != null) {
      const subtask = parseWithSchema(addedSubtaskSchema, item, path, faults);
      if (subtask !== null) addItem(items, id, subtask, path);
    } else {
      const input = parseWithSchema(taskInputSchema, item, path, faults);
      if (input !== null && id !== null) addItem(items, id, input, path);
      else if (typeof rawId === 'string' && isTaskId(rawId)) faultyTaskIds.add(rawId);
    }
  }
  return items;
}

/** Rebuilds the items of tasks that `readTaskItems` accepted. */
export function validTaskItems(tasks: readonly (TaskInput | AddedSubtask)[]): ParsedTaskItems {
  const items = noTaskItems();
  for (const [index, task] of tasks.entries()) addItem(items, validTaskId(task.id), task, ['tasks', index]);
  return items;
}

function addItem(
  { newTasks, additions }: ParsedTaskItems,
  id: TaskId,
  task: TaskInput | AddedSubtask,
  path: DocumentPath,
): void {
  if (id.parent === null) {
    newTasks.push({ task: plannedTask(task), path, adds_subtasks: false });
    return;
  }
  const { id: _, ...subtask } = task as AddedSubtask;
  const siblings = additions.get(id.parent) ?? [];
  siblings.push({ id, subtask, path });
  additions.set(id.parent, siblings);
}

export function addTaskItems(plan: Plan, items: ParsedTaskItems, startedTasks: StartedTasks): AddTasksResult {
  const { additions, faultyTaskIds } = items;
  // Copies, because the caller may use the same items again.
  const newTasks = [...items.newTasks];
  const faults = items.faults.copy();
  if (newTasks.length === 0 && additions.size === 0 && !faults.isEmpty)
    return { ok: false, faults: faults.sorted() };
  const indexById = new Map(newTasks.map(({ task }, index) => [task.id, index]));
  for (const [parent, added] of additions) {
    const taskIndex = indexById.get(parent) ?? newTasks.length;
    const task = newTasks[taskIndex]?.task ?? plan.task(parent);
    if (task !== undefined) {
      const newTask = addSubtasks(task, added, newTasks[taskIndex], faults);
      checkSubtaskGrowth(task, newTask.task, startedTasks, newTask.path, faults);
      newTasks[taskIndex] = newTask;
    } else if (!faultyTaskIds.has(parent)) {
      const message = `The parent task ${parent} is not in the plan; add it first or correct the id.`;
      faults.add('UNKNOWN_TASK', [...(added[0]?.path ?? []), 'id'], message);
    }
  }
  const checkedTasks = checkNewTasks(plan, newTasks, faultyTaskIds, faults);
  if (!faults.isEmpty) return { ok: false, faults: faults.sorted() };
  const inputs = [...checkedTasks.tasks()].map(taskInput);
  const isInPlan = ({ id }: { id: string }) => plan.task(id) !== undefined;
  return {
    ok: true,
    change: {
      added: inputs.filter((input) => !isInPlan(input)),
      changed: inputs.filter(isInPlan),
      removed: [],
    },
  };
}

/** Subtasks are numbered without gaps, so only the next numbers can be added. */
function addSubtasks(
  task: PlannedTask,
  added: readonly SubtaskAddition[],
  existing: NewTask | undefined,
  faults: PlanFaultList,
): NewTask {
  const subtasks = explicitSubtasks(task);
  const subtask_paths = new Map<number, DocumentPath>();
  for (const { id, subtask, path } of added) {
    const next = subtasks.length + 1;
    if (id.subtask_index === next) {
      subtasks.push(subtask);
      subtask_paths.set(next, path);
    } else if ((id.subtask_index ?? 0) < next) {
      const message = `${id.task_id} already exists; the next subtask of ${task.id} is ${subtaskId(task.id, next)}.`;
      faults.add('DUPLICATE_ID', [...path, 'id'], message);
    } else {
      const message = `Subtasks are numbered without gaps: the next one of ${task.id} is ${subtaskId(task.id, next)}.`;
      faults.add('BAD_VALUE', [...path, 'id'], message);
    }
  }
  return {
    task: subtaskCount(task) === subtasks.length ? task : { ...task, subtasks },
    path: existing?.path ?? added[0]?.path ?? [],
    adds_subtasks: existing === undefined,
    subtask_paths,
  };
}

/** The subtasks with a description each. If only their number is given, they get default descriptions. */
function explicitSubtasks(task: PlannedTask): SubtaskInput[] {
  if (typeof task.subtasks !== 'number') return [...task.subtasks];
  return Array.from({ length: task.subtasks }, (_, index) => ({
    description: subtaskDescription(task, index + 1),
  }));
}
