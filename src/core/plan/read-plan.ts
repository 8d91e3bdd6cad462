import type { PlanInput } from '../contract/plan.js';
import type { LocatePath } from '../yaml/source-position.js';
import type { Plan, PlanChange } from './plan.js';
import { diffPlan } from './plan-change.js';
import { type PlanSource, readPlanDocument } from './plan-document.js';
import { type PlanFault, PlanFaultList } from './plan-faults.js';
import { checkStartedTasks, type StartedTasks } from './started-tasks.js';

export type PlanParseResult =
  | { readonly ok: true; readonly input: PlanInput; readonly change: PlanChange }
  | { readonly ok: false; readonly faults: readonly PlanFault[] };

/** Reads a whole plan and computes the change from the current one, or returns the faults, at most `FAULTS_MAX`. */
export function readPlan(
  source: PlanSource,
  current: Plan | null,
  startedTasks: StartedTasks,
): PlanParseResult {
  const document = readPlanDocument(source);
  if (!document.ok) return document;
  const { input, locate } = document;
  const change = diffPlan(current, input);
  const faults = current === null ? [] : startedTaskFaults(current, { input, locate }, change, startedTasks);
  return faults.length > 0 ? { ok: false, faults } : { ok: true, input, change };
}

/** Faults of a change that conflicts with started work, located in the new plan. */
export function startedTaskFaults(
  current: Plan,
  { input, locate }: { readonly input: PlanInput; readonly locate: LocatePath },
  change: PlanChange,
  startedTasks: StartedTasks,
): PlanFault[] {
  const faults = new PlanFaultList(locate);
  const pathOf = (track: string, id: string) => {
    const tasks = input.tracks[track] ?? [];
    return ['tracks', track, tasks.findIndex((task) => task.id === id)];
  };
  checkStartedTasks(current, change, pathOf, startedTasks, faults);
  return faults.sorted();
}
