import type { Path } from '../yaml/place.js';
import type { FaultList } from './faults.js';
import type { Plan, PlanChange } from './plan.js';
import { type PlannedTask, plannedTask, subtaskCount, subtaskId } from './task.js';

/** What has become of the plan's work so far, as the caller's heads tell it. */
export interface Standing {
  /** It has, or once had, a claim or a result. */
  isStarted(subject: string): boolean;
  isCompleted(subject: string): boolean;
}

/** For a plan that nobody has begun to work on. */
export const NOTHING_STARTED: Standing = { isStarted: () => false, isCompleted: () => false };

/** Work that was begun may not vanish, nor may a task that is done be given more to do. `pathOf`: where a task is written. */
export function checkStanding(
  current: Plan,
  { removed, changed }: PlanChange,
  pathOf: (track: string, id: string) => Path,
  standing: Standing,
  faults: FaultList,
): void {
  for (const id of removed) {
    if (faults.full) return;
    const before = current.task(id) as PlannedTask;
    const started = standing.isStarted(id) ? id : startedAfter(before, 0, standing);
    tellVanished(started, ['tracks', before.track], faults);
  }
  for (const input of changed) {
    if (faults.full) return;
    const [before, after] = [current.task(input.id) as PlannedTask, plannedTask(input)];
    if (subtaskCount(after) === subtaskCount(before)) continue;
    const path = [...pathOf(after.track, after.id), 'subtasks'];
    tellVanished(startedAfter(before, subtaskCount(after), standing), path, faults);
    checkGrowth(before, after, standing, path, faults);
  }
}

export function checkGrowth(
  before: PlannedTask,
  after: PlannedTask,
  standing: Standing,
  path: Path,
  faults: FaultList,
): void {
  if (subtaskCount(after) <= subtaskCount(before) || !standing.isCompleted(before.id)) return;
  const said = `${before.id} is completed, so it can be given no more subtasks; reset it first, or add a task of its own.`;
  faults.add('ALREADY_COMPLETED', path, said);
}

/** The first started subtask beyond those that stay. */
function startedAfter(task: PlannedTask, kept: number, standing: Standing): string | null {
  for (let index = kept + 1; index <= subtaskCount(task); index++) {
    const subject = subtaskId(task.id, index);
    if (standing.isStarted(subject)) return subject;
  }
  return null;
}

function tellVanished(subject: string | null, path: Path, faults: FaultList): void {
  if (subject === null) return;
  const said = `${subject} has a claim or a result and may not leave the plan; put it back as it was.`;
  faults.add('TASK_VANISHED', path, said);
}
