import { applyPlanChange, Plan, type PlanChange } from './plan.js';
import type { PlanSource } from './plan-document.js';
import { readPlan } from './read-plan.js';
import { NOTHING_STARTED, type StartedTasks } from './started-tasks.js';
import type { TaskInput } from './task.js';

/** The plan that a source describes; throws if the source has faults. */
export function planOf(source: PlanSource): Plan {
  const parsed = readPlan(source, null, NOTHING_STARTED);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults, null, 1));
  return applyPlanChange(new Plan(), parsed.change);
}

export const planOfTasks = (tasks: readonly TaskInput[]): Plan => planOf({ json: planInputOf(tasks) });

/** A plan with these tasks; the track of a task is the part of its id before the first hyphen. */
export function planInputOf(tasks: readonly TaskInput[]): { tracks: Record<string, TaskInput[]> } {
  const tracks: Record<string, TaskInput[]> = {};
  for (const task of tasks) {
    const track = task.id.slice(0, task.id.indexOf('-'));
    tracks[track] = [...(tracks[track] ?? []), task];
  }
  return { tracks };
}

export const planChangeWith = (parts: Partial<PlanChange>): PlanChange => ({
  added: [],
  changed: [],
  removed: [],
  ...parts,
});

export const startedTasksWith = (parts: Partial<StartedTasks>): StartedTasks => ({
  ...NOTHING_STARTED,
  ...parts,
});
