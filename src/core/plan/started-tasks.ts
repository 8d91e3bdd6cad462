import type { DocumentPath } from '../yaml/source-position.js';
import type { Plan, PlanChange } from './plan.js';
import type { PlanFaultList } from './plan-faults.js';
import { type PlannedTask, plannedTask, subtaskCount, subtaskId } from './task.js';

/** Progress of the plan's tasks, from the caller's heads. */
export interface StartedTasks {
  /** Whether the subject has, or ever had, a claim or a result. */
  isStarted(subject: string): boolean;
  isCompleted(subject: string): boolean;
}

export const NOTHING_STARTED: StartedTasks = { isStarted: () => false, isCompleted: () => false };

/** Reports changes that remove started work or add subtasks to a completed task. `pathOf`: path of a task in the document. */
export function checkStartedTasks(
  current: Plan,
  { removed, changed }: PlanChange,
  pathOf: (track: string, id: string) => DocumentPath,
  startedTasks: StartedTasks,
  faults: PlanFaultList,
): void {
  for (const id of removed) {
    if (faults.isFull) return;
    const before = current.task(id) as PlannedTask;
    const startedSubject = startedTasks.isStarted(id) ? id : firstStartedSubtask(before, 0, startedTasks);
    addVanishedFault(startedSubject, ['tracks', before.track], faults);
  }
  for (const input of changed) {
    if (faults.isFull) return;
    const [before, after] = [current.task(input.id) as PlannedTask, plannedTask(input)];
    if (subtaskCount(after) === subtaskCount(before)) continue;
    const path = [...pathOf(after.track, after.id), 'subtasks'];
    addVanishedFault(firstStartedSubtask(before, subtaskCount(after), startedTasks), path, faults);
    checkSubtaskGrowth(before, after, startedTasks, path, faults);
  }
}

export function checkSubtaskGrowth(
  before: PlannedTask,
  after: PlannedTask,
  startedTasks: StartedTasks,
  path: DocumentPath,
  faults: PlanFaultList,
): void {
  if (subtaskCount(after) <= subtaskCount(before) || !startedTasks.isCompleted(before.id)) return;
  const message = `${before.id} is completed and cannot get more subtasks; reset it first, or add a separate task.`;
  faults.add('ALREADY_COMPLETED', path, message);
}

/** The first started subtask after the first `remainingCount` subtasks, which stay in the plan. */
function firstStartedSubtask(
  task: PlannedTask,
  remainingCount: number,
  startedTasks: StartedTasks,
): string | null {
  for (let index = remainingCount + 1; index <= subtaskCount(task); index++) {
    const subject = subtaskId(task.id, index);
    if (startedTasks.isStarted(subject)) return subject;
  }
  return null;
}

function addVanishedFault(subject: string | null, path: DocumentPath, faults: PlanFaultList): void {
  if (subject === null) return;
  const message = `${subject} has a claim or a result and cannot be removed from the plan; add it to the plan again.`;
  faults.add('TASK_VANISHED', path, message);
}
