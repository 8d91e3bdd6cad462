import type { PlanInput } from '../../contract/plan.js';
import { withoutUndefined } from '../../without-undefined.js';
import { readPlanDocument } from '../plan-document.js';
import type { PlanFaultList } from '../plan-faults.js';
import type { TaskInput } from '../task-schema.js';
import { addItemFault, assignIds, tasksByOriginalId } from './assign-ids.js';
import { resolveDependencies } from './dependencies.js';
import { placeSubtasks } from './place-subtasks.js';
import { readIssues } from './read-issues.js';
import { readMarkdown } from './read-markdown.js';
import type { ImportFaults, MappedItem, SourceItem } from './source-item.js';

export type ImportFormat = 'markdown' | 'issues';

/** The plan before the import, and which of its tasks have been started. */
export interface CurrentPlan {
  readonly plan: PlanInput | null;
  /** Whether the task, or one of its subtasks, has or had a claim or a result. */
  isStarted(taskId: string): boolean;
}

export const NO_CURRENT_PLAN: CurrentPlan = { plan: null, isStarted: () => false };

export interface ImportedPlan {
  readonly ok: true;
  readonly input: PlanInput;
  /** One entry for each item of the source, in its order. */
  readonly mapping: readonly MappedItem[];
  /** Tasks of the current plan that the new plan lacks: they are not in the source, or done there and never started. */
  readonly removed: readonly string[];
  /** Sentences for a person about dependencies that were left out. */
  readonly warnings: readonly string[];
}

/** Makes a plan from a Markdown checklist or a list of issues. Items that are in the current plan keep their task ids. */
export function importPlan(
  text: string,
  format: ImportFormat,
  current: CurrentPlan = NO_CURRENT_PLAN,
): ImportedPlan | ImportFaults {
  const document = format === 'markdown' ? readMarkdown(text) : readIssues(text);
  const { faults } = document;
  if (!faults.isEmpty) return { ok: false, faults: faults.sorted() };
  const currentTasks = tasksByOriginalId(current.plan);
  const currentIdOf = (item: SourceItem) => currentTasks.get(item.original_id)?.id;
  // An item that is done is left out, unless its task was started: the history of a started task belongs to the plan.
  const isLeftOut = (item: SourceItem) => item.is_done && !current.isStarted(currentIdOf(item) ?? '');
  const plannedItems = document.items.filter((item) => !isLeftOut(item));
  const idByItem = assignIds(plannedItems, current.plan, currentTasks, faults);
  const warnings: string[] = [];
  const dependencies = resolveDependencies(document, idByItem, warnings);
  const itemById = new Map<string, SourceItem>();
  const tasks = plannedItems.flatMap((item): TaskInput[] => {
    const id = idByItem.get(item);
    if (id === undefined) return [];
    itemById.set(id, item);
    return [taskOf(item, id, dependencies.get(item), currentTasks.get(item.original_id))];
  });
  const input: PlanInput = { tracks: groupByTrack(tasks) };
  if (faults.isEmpty) checkPlan(input, itemById, faults);
  if (!faults.isEmpty) return { ok: false, faults: faults.sorted() };
  const tasksBefore = Object.values(current.plan?.tracks ?? {}).flat();
  return {
    ok: true,
    input,
    mapping: document.items.map((item) => mappedItem(item, idByItem.get(item), currentTasks)),
    removed: tasksBefore.map(({ id }) => id).filter((id) => !itemById.has(id)),
    warnings,
  };
}

function mappedItem(
  item: SourceItem,
  taskId: string | undefined,
  currentTasks: ReadonlyMap<string, TaskInput>,
): MappedItem {
  const { original_id, title, line } = item;
  const keptOrNew = currentTasks.get(original_id)?.id === taskId ? 'kept' : 'new';
  const status = taskId === undefined ? 'done' : keptOrNew;
  return { original_id, task_id: taskId ?? null, title, status, ...withoutUndefined({ line }) };
}

function taskOf(
  item: SourceItem,
  id: string,
  dependsOn: readonly string[] | undefined,
  currentTask: TaskInput | undefined,
): TaskInput {
  const { title, instructions, priority, original_id } = item;
  const subtasks = placeSubtasks(item.subtasks, currentTask?.subtasks);
  return {
    id,
    description: title,
    ...(instructions === null ? {} : { instructions }),
    ...(dependsOn === undefined ? {} : { depends_on: [...dependsOn] }),
    ...(priority === null ? {} : { priority }),
    ...(subtasks.length === 0 ? {} : { subtasks }),
    metadata: { ...currentTask?.metadata, original_id },
  };
}

function groupByTrack(tasks: readonly TaskInput[]): PlanInput['tracks'] {
  const tracks = new Map<string, TaskInput[]>();
  for (const task of tasks) {
    const track = task.id.split('-')[0] ?? '';
    const tasksOfTrack = tracks.get(track) ?? [];
    tasksOfTrack.push(task);
    tracks.set(track, tasksOfTrack);
  }
  return Object.fromEntries(tracks);
}

/** Applies the rules of every plan. A fault is reported at the line of its item in the source. */
function checkPlan(input: PlanInput, itemById: ReadonlyMap<string, SourceItem>, faults: PlanFaultList): void {
  const parsed = readPlanDocument({ json: input });
  if (parsed.ok) return;
  for (const { code, path, message } of parsed.faults) {
    const [, track = '', index = ''] = /^tracks\.([A-Z]+)\[(\d+)\]/.exec(path) ?? [];
    const item = itemById.get(input.tracks[track]?.[Number(index)]?.id ?? '');
    if (item === undefined) faults.add(code, [path], message);
    else addItemFault(faults, code, item, message);
  }
}
