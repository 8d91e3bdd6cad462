import { insertionIndex } from '../insertion-index.js';
import { DependantIndex } from './dependant-index.js';
import {
  type PlannedTask,
  plannedTask,
  splitSubject,
  subtaskCount,
  subtaskDependencies,
  subtaskId,
  subtaskIds,
  type TaskInput,
} from './task.js';

/**
 * A claimable item: a task or one of its subtasks. Claiming a task that has subtasks means claiming the merge of their
 * results.
 */
export interface PlannedSubject {
  readonly id: string;
  readonly task: PlannedTask;
  readonly subtask_index: number | null;
}

/**
 * The queries that the dependency functions make. They do not need a whole `Plan`, so that changes can be checked before
 * the plan contains them.
 */
export interface PlanLookup {
  task(taskId: string): PlannedTask | undefined;
  /** The task before this sequence number in the track. */
  taskBefore(track: string, sequence: number): PlannedTask | undefined;
}

/** Payload of `PLAN_CHANGED`, or a part of it. A changed task is given with all its fields. */
export interface PlanChange {
  readonly added: readonly TaskInput[];
  readonly changed: readonly TaskInput[];
  readonly removed: readonly string[];
}

/** The tasks of a project, indexed by id, by position in the track, and by dependants. */
export class Plan implements PlanLookup {
  readonly #tasks = new Map<string, PlannedTask>();
  /** Tasks per track, sorted by sequence. A track has at most 999, so binary search and insertion are cheap. */
  readonly #tracks = new Map<string, PlannedTask[]>();
  readonly #dependantIndex = new DependantIndex();
  #subjectCount = 0;
  #revision = 0;

  get task_count(): number {
    return this.#tasks.size;
  }
  /** Tasks and subtasks. */
  get subject_count(): number {
    return this.#subjectCount;
  }
  /** Incremented by every change: values computed for another revision are out of date. */
  get revision(): number {
    return this.#revision;
  }

  task(taskId: string): PlannedTask | undefined {
    return this.#tasks.get(taskId);
  }

  get(subject: string): PlannedSubject | undefined {
    const { task_id, subtask_index } = splitSubject(subject);
    const task = this.#tasks.get(task_id);
    if (task === undefined) return undefined;
    if (subtask_index === null) return { id: task.id, task, subtask_index };
    // The comparison of the text rejects other spellings of the same number, such as `::01` or `::1e0`.
    const isValidId = subtask_index <= subtaskCount(task) && subject === subtaskId(task_id, subtask_index);
    return isValidId && subtask_index >= 1 ? { id: subject, task, subtask_index } : undefined;
  }

  has(subject: string): boolean {
    return this.get(subject) !== undefined;
  }

  taskAt(track: string, sequence: number): PlannedTask | undefined {
    const tasks = this.#tracks.get(track) ?? [];
    const task = tasks[sequenceIndex(tasks, sequence)];
    return task?.sequence === sequence ? task : undefined;
  }

  taskBefore(track: string, sequence: number): PlannedTask | undefined {
    const tasks = this.#tracks.get(track) ?? [];
    return tasks[sequenceIndex(tasks, sequence) - 1];
  }

  taskAfter(track: string, sequence: number): PlannedTask | undefined {
    const tasks = this.#tracks.get(track) ?? [];
    return tasks[sequenceIndex(tasks, sequence + 1)];
  }

  /** Tasks and subtasks that name this id in their `depends_on`. */
  explicitDependantsOf(subject: string): Iterable<string> {
    return this.#dependantIndex.dependantsOf(subject);
  }

  tracks(): string[] {
    return [...this.#tracks.keys()].sort();
  }

  tasksOf(track: string): readonly PlannedTask[] {
    return this.#tracks.get(track) ?? [];
  }

  /** All tasks, by track and sequence. */
  *tasks(): Generator<PlannedTask> {
    for (const track of this.tracks()) yield* this.tasksOf(track);
  }

  /** Every subject, subtasks before their merge. */
  *subjects(): Generator<string> {
    for (const task of this.tasks()) {
      yield* subtaskIds(task);
      yield task.id;
    }
  }

  /** Adds the task, or replaces the one with the same id. */
  put(task: PlannedTask): void {
    this.remove(task.id);
    this.#tasks.set(task.id, task);
    const tasks = this.#tracks.get(task.track) ?? [];
    tasks.splice(sequenceIndex(tasks, task.sequence), 0, task);
    this.#tracks.set(task.track, tasks);
    for (const [id, dependant] of explicitDependencies(task)) this.#dependantIndex.add(id, dependant);
    this.#subjectCount += 1 + subtaskCount(task);
    this.#revision += 1;
  }

  remove(taskId: string): void {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return;
    this.#tasks.delete(taskId);
    const tasks = this.#tracks.get(task.track) ?? [];
    tasks.splice(tasks.indexOf(task), 1);
    if (tasks.length === 0) this.#tracks.delete(task.track);
    for (const [id, dependant] of explicitDependencies(task)) this.#dependantIndex.remove(id, dependant);
    this.#subjectCount -= 1 + subtaskCount(task);
    this.#revision += 1;
  }
}

/**
 * Folds `PLAN_CHANGED`: modifies the given plan, which the caller owns, and returns it. A change may come in several parts,
 * so a task may arrive before the tasks that it depends on.
 */
export function applyPlanChange(plan: Plan, change: PlanChange): Plan {
  for (const taskId of change.removed) plan.remove(taskId);
  for (const input of change.changed) plan.put(plannedTask(input));
  for (const input of change.added) plan.put(plannedTask(input));
  return plan;
}

const sequenceIndex = (tasks: readonly PlannedTask[], sequence: number): number =>
  insertionIndex(tasks, (task) => task.sequence < sequence);

function* explicitDependencies(task: PlannedTask): Generator<[id: string, dependant: string]> {
  for (const id of task.depends_on ?? []) yield [id, task.id];
  if (typeof task.subtasks === 'number') return;
  for (let index = 1; index <= task.subtasks.length; index++) {
    for (const id of subtaskDependencies(task, index)) yield [id, subtaskId(task.id, index)];
  }
}
