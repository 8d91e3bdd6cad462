import { z } from 'zod';
import type { Path } from '../yaml/place.js';
import { checkJson, fits } from '../yaml/shape.js';
import { type Candidate, checkTogether } from './check.js';
import { FaultList, type PlanFault } from './faults.js';
import type { Plan, PlanChange } from './plan.js';
import { checkGrowth, type Standing } from './standing.js';
import {
  type PlannedTask,
  plannedTask,
  type SubtaskInput,
  subtaskCount,
  subtaskDescription,
  subtaskId,
  type TaskInput,
  taskInput,
} from './task.js';
import { isTaskId, parseTaskId, type TaskId } from './task-id.js';
import { subtaskInputSchema, taskInputSchema } from './task-schema.js';

/** A subtask on its own: its id, `A-001-x::4`, says whose it is. */
const addedSubtaskSchema = subtaskInputSchema.extend({ id: z.string().min(1) });
export type AddedSubtask = z.infer<typeof addedSubtaskSchema>;

export type AddReading =
  | { readonly ok: true; readonly change: PlanChange }
  | { readonly ok: false; readonly faults: readonly PlanFault[] };

interface Addition {
  readonly id: TaskId;
  readonly subtask: SubtaskInput;
  readonly path: Path;
}

/** Tasks to be added, read each by itself. */
export interface TaskItems {
  readonly candidates: Candidate[];
  readonly additions: ReadonlyMap<string, Addition[]>;
  readonly legible: ReadonlySet<string>;
  readonly faults: FaultList;
}

/** Adds tasks, and subtasks to tasks that are there, under the rules of a whole plan. The plan itself is not touched. */
export const addTasks = (plan: Plan, tasks: unknown, standing: Standing): AddReading =>
  addItems(plan, readTaskItems(tasks), standing);

/** What can be said of the tasks without the plan they come to. */
export function readTaskItems(tasks: unknown): TaskItems {
  const faults = new FaultList();
  if (Array.isArray(tasks)) return { ...readItems(tasks, faults), faults };
  faults.add('BAD_VALUE', ['tasks'], '"tasks" must be a list of tasks.');
  return { candidates: [], additions: new Map(), legible: new Set(), faults };
}

/** The same items again, of tasks that `readTaskItems` found no fault with. */
export function soundTaskItems(tasks: readonly (TaskInput | AddedSubtask)[]): TaskItems {
  const items = { candidates: [] as Candidate[], additions: new Map<string, Addition[]>() };
  for (const [at, task] of tasks.entries()) {
    const reading = parseTaskId(task.id);
    if (!reading.ok) throw new Error(`A task without a legal id got past the border. ${reading.message}`);
    put(items, reading.id, task, ['tasks', at]);
  }
  return { ...items, legible: new Set(), faults: new FaultList() };
}

export function addItems(plan: Plan, items: TaskItems, standing: Standing): AddReading {
  const { additions, legible } = items;
  // Proposed again, it begins again from what was read.
  const candidates = [...items.candidates];
  const faults = items.faults.copy();
  if (candidates.length === 0 && additions.size === 0 && !faults.empty)
    return { ok: false, faults: faults.inOrder() };
  const places = new Map(candidates.map(({ task }, at) => [task.id, at]));
  for (const [parent, added] of additions) {
    const at = places.get(parent) ?? candidates.length;
    const task = candidates[at]?.task ?? plan.task(parent);
    if (task !== undefined) {
      const candidate = grow(task, added, candidates[at], faults);
      checkGrowth(task, candidate.task, standing, candidate.path, faults);
      candidates[at] = candidate;
    } else if (!legible.has(parent)) {
      const said = `There is no task ${parent} in the plan to give subtasks to; add it first or correct the id.`;
      faults.add('UNKNOWN_TASK', [...(added[0]?.path ?? []), 'id'], said);
    }
  }
  const fresh = checkTogether(plan, candidates, legible, faults);
  if (!faults.empty) return { ok: false, faults: faults.inOrder() };
  const inputs = [...fresh.tasks()].map(taskInput);
  const isThere = ({ id }: { id: string }) => plan.task(id) !== undefined;
  return {
    ok: true,
    change: { added: inputs.filter((one) => !isThere(one)), changed: inputs.filter(isThere), removed: [] },
  };
}

function readItems(items: readonly unknown[], faults: FaultList) {
  const candidates: Candidate[] = [];
  const additions = new Map<string, Addition[]>();
  const legible = new Set<string>();
  for (const [at, item] of items.entries()) {
    if (faults.full) break;
    const path = ['tasks', at];
    const written = (item as { id?: unknown } | null)?.id;
    const reading = typeof written === 'string' ? parseTaskId(written) : null;
    if (reading !== null && !reading.ok) faults.add('BAD_ID', [...path, 'id'], reading.message);
    const id = reading?.ok ? reading.id : null;
    if (!checkJson(item, [...path], faults)) continue;
    if (id?.parent != null) {
      const subtask = fits(addedSubtaskSchema, item, path, faults);
      if (subtask !== null) put({ candidates, additions }, id, subtask, path);
    } else {
      const input = fits(taskInputSchema, item, path, faults);
      if (input !== null && id !== null) put({ candidates, additions }, id, input, path);
      else if (typeof written === 'string' && isTaskId(written)) legible.add(written);
    }
  }
  return { candidates, additions, legible };
}

function put(
  { candidates, additions }: { candidates: Candidate[]; additions: Map<string, Addition[]> },
  id: TaskId,
  task: TaskInput | AddedSubtask,
  path: Path,
): void {
  if (id.parent === null) {
    candidates.push({ task: plannedTask(task), path, is_growth: false });
    return;
  }
  const { id: _, ...subtask } = task as AddedSubtask;
  const beside = additions.get(id.parent) ?? [];
  beside.push({ id, subtask, path });
  additions.set(id.parent, beside);
}

/** Subtasks are numbered without gaps, so the next ones are the only ones that can be added. */
function grow(
  task: PlannedTask,
  added: readonly Addition[],
  beside: Candidate | undefined,
  faults: FaultList,
): Candidate {
  const subtasks = writtenOut(task);
  const subtask_paths = new Map<number, Path>();
  for (const { id, subtask, path } of added) {
    const next = subtasks.length + 1;
    if (id.subtask_index === next) {
      subtasks.push(subtask);
      subtask_paths.set(next, path);
    } else if ((id.subtask_index ?? 0) < next) {
      const said = `${id.task_id} is there already; the next subtask of ${task.id} is ${subtaskId(task.id, next)}.`;
      faults.add('DUPLICATE_ID', [...path, 'id'], said);
    } else {
      const said = `Subtasks are numbered without gaps: the next one of ${task.id} is ${subtaskId(task.id, next)}.`;
      faults.add('BAD_VALUE', [...path, 'id'], said);
    }
  }
  return {
    task: subtaskCount(task) === subtasks.length ? task : { ...task, subtasks },
    path: beside?.path ?? added[0]?.path ?? [],
    is_growth: beside === undefined,
    subtask_paths,
  };
}

/** Subtasks that are only counted need words of their own once others join them. */
function writtenOut(task: PlannedTask): SubtaskInput[] {
  if (typeof task.subtasks !== 'number') return [...task.subtasks];
  return Array.from({ length: task.subtasks }, (_, at) => ({
    description: subtaskDescription(task, at + 1),
  }));
}
