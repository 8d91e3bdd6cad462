import { allSteps, type Steps } from '../steps.js';
import type { Plan, PlanChange } from './plan.js';
import { type PlannedTask, plannedTask, type TaskInput, taskInput } from './task.js';

/** A plan as people write it. */
export interface PlanInput {
  readonly project?: string;
  readonly tracks: Readonly<Record<string, readonly TaskInput[]>>;
}

/** A part of a change must fit into one event of every store, whatever its tasks say. */
export const TASKS_PER_EVENT_MAX = 500;
export const TASKS_PER_EVENT_LENGTH_MAX = 200_000;

const TASKS_PER_STEP = 100;

/** What must happen to the plan for it to be the one wanted. The wanted plan must be sound: `readPlanDocument` sees to it. */
export const diffPlan = (current: Plan | null, wanted: PlanInput): PlanChange =>
  allSteps(diffSteps(current, wanted));

/** The same in steps. The current plan must not change between them: its revision tells. */
export function* diffSteps(current: Plan | null, wanted: PlanInput): Steps<PlanChange> {
  const added: TaskInput[] = [];
  const changed: TaskInput[] = [];
  const kept = new Set<string>();
  let done = 0;
  for (const inputs of Object.values(wanted.tracks)) {
    for (const input of inputs) {
      const task = plannedTask(input);
      const before = current?.task(task.id);
      if (before === undefined) added.push(taskInput(task));
      else {
        kept.add(task.id);
        if (!sameTask(before, task)) changed.push(taskInput(task));
      }
      if (++done % TASKS_PER_STEP === 0) yield;
    }
  }
  const removed: string[] = [];
  for (const task of current?.tasks() ?? []) {
    if (!kept.has(task.id)) removed.push(task.id);
    if (++done % TASKS_PER_STEP === 0) yield;
  }
  return { added, changed, removed };
}

export const isNoChange = (change: PlanChange): boolean =>
  change.added.length + change.changed.length + change.removed.length === 0;

const sameTask = (a: PlannedTask, b: PlannedTask): boolean => sameValue(taskInput(a), taskInput(b));

/** Equal as JSON, whatever the order of the names. */
function sameValue(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) =>
      sameValue((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name]),
    )
  );
}

type Item = { kind: keyof PlanChange; task: TaskInput | string };

/** The change in parts that one event each can carry; applied in order they come to the same plan. */
export const splitChange = (change: PlanChange): PlanChange[] => allSteps(splitSteps(change));

export function* splitSteps(change: PlanChange): Steps<PlanChange[]> {
  // What goes goes first, so that no place in a track is ever taken twice on the way.
  const items: Item[] = [
    ...change.removed.map((task): Item => ({ kind: 'removed', task })),
    ...change.changed.map((task): Item => ({ kind: 'changed', task })),
    ...change.added.map((task): Item => ({ kind: 'added', task })),
  ];
  const parts: Item[][] = [];
  let length = 0;
  for (const [at, item] of items.entries()) {
    if (at % TASKS_PER_STEP === 0) yield;
    const item_length = JSON.stringify(item.task).length;
    const part = parts.at(-1);
    const fits =
      length + item_length <= TASKS_PER_EVENT_LENGTH_MAX && (part?.length ?? 0) < TASKS_PER_EVENT_MAX;
    if (part !== undefined && fits) part.push(item);
    else parts.push([item]);
    length = part !== undefined && fits ? length + item_length : item_length;
  }
  return parts.map(partOf);
}

function partOf(items: readonly Item[]): PlanChange {
  const part = { added: [] as TaskInput[], changed: [] as TaskInput[], removed: [] as string[] };
  for (const { kind, task } of items) {
    if (kind === 'removed') part.removed.push(task as string);
    else part[kind].push(task as TaskInput);
  }
  return part;
}
