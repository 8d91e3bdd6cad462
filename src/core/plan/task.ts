import { parseTaskId, type TaskId } from './task-id.js';
import type { SubtaskInput, TaskInput } from './task-schema.js';

export type { SubtaskInput, TaskInput } from './task-schema.js';

/**
 * A task of a plan. Every field is always present, so that all tasks have the same shape in memory: a plan may have a
 * million.
 */
export interface PlannedTask {
  readonly id: string;
  readonly track: string;
  readonly sequence: number;
  readonly description: string;
  readonly instructions: string | null;
  /** The dependencies that the plan names; null: the previous task in the track. `dependenciesOf` resolves both. */
  readonly depends_on: readonly string[] | null;
  /** Tasks with a higher priority are claimed first. */
  readonly priority: number;
  readonly modules: readonly string[];
  /** The number of subtasks, or a description of each; 0 if there are none. */
  readonly subtasks: number | readonly SubtaskInput[];
  readonly metadata: Readonly<Record<string, unknown>> | null;
}

const NO_ITEMS: readonly string[] = [];

/** The parts of a task id that was validated before: requests are validated, so the log contains only valid ids. */
export function validTaskId(id: string): TaskId {
  const parsed = parseTaskId(id);
  if (!parsed.ok) throw new Error(`A task with an invalid id passed validation. ${parsed.message}`);
  return parsed.id;
}

export function plannedTask(input: TaskInput): PlannedTask {
  const { track, sequence } = validTaskId(input.id);
  return {
    id: input.id,
    track,
    sequence,
    description: input.description,
    instructions: input.instructions ?? null,
    depends_on: input.depends_on === undefined ? null : uniqueItems(input.depends_on),
    priority: input.priority ?? 0,
    modules: uniqueItems(input.modules ?? NO_ITEMS),
    subtasks: subtasksOf(input.subtasks),
    metadata: input.metadata ?? null,
  };
}

function subtasksOf(input: TaskInput['subtasks']): PlannedTask['subtasks'] {
  if (input === undefined || typeof input === 'number') return input ?? 0;
  return input.map((subtask) => {
    const dependencies = uniqueItems(subtask.depends_on ?? NO_ITEMS);
    return dependencies.length === 0
      ? { description: subtask.description }
      : { ...subtask, depends_on: [...dependencies] };
  });
}

const uniqueItems = (items: readonly string[]): readonly string[] =>
  items.length === 0 ? NO_ITEMS : [...new Set(items)];

/** The shortest input that gives the same task. */
export function taskInput(task: PlannedTask): TaskInput {
  return {
    id: task.id,
    description: task.description,
    ...(task.instructions === null ? {} : { instructions: task.instructions }),
    ...(task.depends_on === null ? {} : { depends_on: [...task.depends_on] }),
    ...(task.priority === 0 ? {} : { priority: task.priority }),
    ...(task.modules.length === 0 ? {} : { modules: [...task.modules] }),
    ...(task.subtasks === 0 ? {} : { subtasks: copySubtasks(task.subtasks) }),
    ...(task.metadata === null ? {} : { metadata: { ...task.metadata } }),
  };
}

const copySubtasks = (subtasks: PlannedTask['subtasks']): number | SubtaskInput[] =>
  typeof subtasks === 'number' ? subtasks : subtasks.map((subtask) => ({ ...subtask }));

export const subtaskCount = (task: PlannedTask): number =>
  typeof task.subtasks === 'number' ? task.subtasks : task.subtasks.length;

export const subtaskId = (taskId: string, index: number): string => `${taskId}::${index}`;

export function subtaskIds(task: PlannedTask): string[] {
  return Array.from({ length: subtaskCount(task) }, (_, index) => subtaskId(task.id, index + 1));
}

/** Dependencies of a subtask, in addition to its task's dependencies. */
export function subtaskDependencies(task: PlannedTask, index: number): readonly string[] {
  return (typeof task.subtasks === 'number' ? undefined : task.subtasks[index - 1]?.depends_on) ?? NO_ITEMS;
}

export function subtaskDescription(task: PlannedTask, index: number): string {
  const ownDescription =
    typeof task.subtasks === 'number' ? undefined : task.subtasks[index - 1]?.description;
  return ownDescription ?? `${task.description} (part ${index} of ${subtaskCount(task)})`;
}

/** Splits a valid id: `A-001-x::2` into `A-001-x` and 2. */
export function splitSubject(subject: string): { task_id: string; subtask_index: number | null } {
  const separatorIndex = subject.indexOf('::');
  if (separatorIndex < 0) return { task_id: subject, subtask_index: null };
  return {
    task_id: subject.slice(0, separatorIndex),
    subtask_index: Number(subject.slice(separatorIndex + 2)),
  };
}
