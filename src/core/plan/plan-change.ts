import type { PlanInput } from '../contract/plan.js';
import { isJsonEqual } from '../json-equal.js';
import { runAtOnce, type SliceableWork } from '../sliceable-work.js';
import type { Plan, PlanChange } from './plan.js';
import { type PlannedTask, plannedTask, type TaskInput, taskInput } from './task.js';

/** Limits of one part of a change, so that the part fits into one event of every store. */
export const TASKS_PER_EVENT_MAX = 500;
const TASKS_PER_EVENT_LENGTH_MAX = 200_000;

const TASKS_BETWEEN_PAUSES = 100;

/** Computes the change from the current plan to the target. The target must be valid, which `readPlanDocument` ensures. */
export const diffPlan = (current: Plan | null, target: PlanInput): PlanChange =>
  runAtOnce(diffPlanInSlices(current, target));

/**
 * Compares two plans. The current plan must not change during a pause; the caller detects a change by the plan's revision.
 */
export function* diffPlanInSlices(current: Plan | null, target: PlanInput): SliceableWork<PlanChange> {
  const added: TaskInput[] = [];
  const changed: TaskInput[] = [];
  const remainingIds = new Set<string>();
  let visited = 0;
  for (const inputs of Object.values(target.tracks)) {
    for (const input of inputs) {
      const task = plannedTask(input);
      const before = current?.task(task.id);
      if (before === undefined) added.push(taskInput(task));
      else {
        remainingIds.add(task.id);
        if (!isSameTask(before, task)) changed.push(taskInput(task));
      }
      if (++visited % TASKS_BETWEEN_PAUSES === 0) yield;
    }
  }
  const removed: string[] = [];
  for (const task of current?.tasks() ?? []) {
    if (!remainingIds.has(task.id)) removed.push(task.id);
    if (++visited % TASKS_BETWEEN_PAUSES === 0) yield;
  }
  return { added, changed, removed };
}

export const isNoChange = (change: PlanChange): boolean =>
  change.added.length + change.changed.length + change.removed.length === 0;

const isSameTask = (a: PlannedTask, b: PlannedTask): boolean => isJsonEqual(taskInput(a), taskInput(b));

type ChangeItem = { kind: keyof PlanChange; task: TaskInput | string };

/** Splits a change into parts that fit into one event each; applied in order, they give the same plan. */
export const splitChange = (change: PlanChange): PlanChange[] => runAtOnce(splitChangeInSlices(change));

export function* splitChangeInSlices(change: PlanChange): SliceableWork<PlanChange[]> {
  // Removals come first, so that no two tasks have the same sequence number after any part.
  const items = (['removed', 'changed', 'added'] as const).flatMap((kind) =>
    change[kind].map((task): ChangeItem => ({ kind, task })),
  );
  const parts: ChangeItem[][] = [];
  let partLength = 0;
  for (const [index, item] of items.entries()) {
    if (index % TASKS_BETWEEN_PAUSES === 0) yield;
    const itemLength = JSON.stringify(item.task).length;
    const part = parts.at(-1);
    const canAppend =
      partLength + itemLength <= TASKS_PER_EVENT_LENGTH_MAX && (part?.length ?? 0) < TASKS_PER_EVENT_MAX;
    if (part !== undefined && canAppend) part.push(item);
    else parts.push([item]);
    partLength = part !== undefined && canAppend ? partLength + itemLength : itemLength;
  }
  return parts.map(changeOf);
}

function changeOf(items: readonly ChangeItem[]): PlanChange {
  const tasksOf = (kind: keyof PlanChange) =>
    items.filter((item) => item.kind === kind).map(({ task }) => task);
  return {
    added: tasksOf('added') as TaskInput[],
    changed: tasksOf('changed') as TaskInput[],
    removed: tasksOf('removed') as string[],
  };
}
