import type { TaskState } from '../../../../src/core/contract/tasks.js';
import type { Readiness } from '../../../../src/core/contract/values.js';
import { taskDependencies } from '../../../../src/core/plan/dependency-graph.js';
import { Plan } from '../../../../src/core/plan/plan.js';
import {
  type PlannedTask,
  plannedTask,
  splitSubject,
  subtaskCount,
  subtaskDependencies,
  subtaskDescription,
  type TaskInput,
} from '../../../../src/core/plan/task.js';
import type { Reply } from '../../api/call.js';
import { actorName } from '../../model/actor-name.js';
import { layoutPlan, type PlanLayout } from './layout.js';

/** A task of the plan with its state. Its subtasks are part of it, and have no entry. */
export interface PlanTask {
  readonly id: string;
  readonly track: string;
  readonly description: string;
  /** The tasks that this task or one of its subtasks depends on, completed or not. */
  readonly dependencies: readonly string[];
  readonly isCompleted: boolean;
  /** Null if its state was not read. */
  readonly state: TaskState | null;
  readonly subtasks: { readonly completed: number; readonly total: number };
}

/** A row of the list: a task or a subtask. */
export interface SubjectRow {
  readonly id: string;
  readonly track: string;
  readonly description: string;
  readonly readiness: Readiness;
  /** The holder; empty if there is none. */
  readonly holder: string;
  readonly generation: number;
  readonly waiting_for: readonly string[];
  readonly parked: number;
}

export function planOf({ tracks }: Reply<'get_plan'>['plan']): Plan {
  const plan = new Plan();
  // The cast drops `readonly`: a reply is read-only, and the plan only reads its input.
  for (const tasks of Object.values(tracks))
    for (const task of tasks) plan.put(plannedTask(task as TaskInput));
  return plan;
}

/** The tasks of the plan by track and sequence, at most `tasksMax`. */
export function planTasks(plan: Plan, states: readonly TaskState[], tasksMax: number): PlanTask[] {
  const stateOf = new Map(states.map((state) => [state.task_id, state]));
  const completedOf = completedSubtasks(states);
  const dependenciesOf = knownDependencies(plan);
  const tasks: PlanTask[] = [];
  for (const task of plan.tasks()) {
    if (tasks.length >= tasksMax) break;
    const state = stateOf.get(task.id) ?? null;
    tasks.push({
      id: task.id,
      track: task.track,
      description: task.description,
      dependencies: dependenciesOf(task.id),
      isCompleted: state?.phase === 'COMPLETED',
      state,
      subtasks: { completed: completedOf.get(task.id) ?? 0, total: subtaskCount(task) },
    });
  }
  return tasks;
}

/** Values that depend only on the plan. A shown plan does not change, so they are computed once. */
const dependenciesByPlan = new WeakMap<Plan, Map<string, readonly string[]>>();
const layoutByPlan = new WeakMap<Plan, PlanLayout>();

function knownDependencies(plan: Plan): (id: string) => readonly string[] {
  let dependencies = dependenciesByPlan.get(plan);
  if (dependencies === undefined) {
    dependencies = new Map([...plan.tasks()].map((task) => [task.id, allDependencies(plan, task)]));
    dependenciesByPlan.set(plan, dependencies);
  }
  return (id) => dependencies.get(id) ?? [];
}

export function layoutOf(plan: Plan, tasksMax: number): PlanLayout {
  const layout = layoutByPlan.get(plan) ?? layoutPlan(planTasks(plan, [], tasksMax));
  layoutByPlan.set(plan, layout);
  return layout;
}

function completedSubtasks(states: readonly TaskState[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { task_id: subject, phase } of states) {
    const { task_id, subtask_index } = splitSubject(subject);
    if (subtask_index !== null && phase === 'COMPLETED') counts.set(task_id, (counts.get(task_id) ?? 0) + 1);
  }
  return counts;
}

function allDependencies(plan: Plan, task: PlannedTask): string[] {
  const names = [...taskDependencies(plan, task)];
  const describedCount = typeof task.subtasks === 'number' ? 0 : task.subtasks.length;
  for (let index = 1; index <= describedCount; index++) names.push(...subtaskDependencies(task, index));
  const ids = new Set(names.map((name) => splitSubject(name).task_id));
  ids.delete(task.id);
  return [...ids];
}

export const subjectRows = (plan: Plan, states: readonly TaskState[]): SubjectRow[] =>
  states.map(({ task_id: id, readiness, claim, generation, waiting_for, parked }) => {
    const planned = plan.get(id);
    const index = planned?.subtask_index ?? null;
    const task = planned?.task;
    return {
      id,
      track: task?.track ?? '',
      description:
        task === undefined ? '' : index === null ? task.description : subtaskDescription(task, index),
      readiness,
      holder: holderOf({ claim }),
      generation,
      waiting_for,
      parked,
    };
  });

/** The holder of a task; empty if there is none. */
export function holderOf(state: Pick<TaskState, 'claim'> | null): string {
  const claim = state?.claim ?? null;
  return claim?.state === 'ACTIVE' || claim?.state === 'SUSPENDED' ? actorName(claim.agent_id) : '';
}
