import type { Locate } from '../yaml/place.js';
import { diffPlan, type PlanInput } from './change.js';
import { FaultList, type PlanFault } from './faults.js';
import type { Plan, PlanChange } from './plan.js';
import { type PlanSource, readPlanDocument } from './plan-document.js';
import { checkStanding, type Standing } from './standing.js';

export type PlanReading =
  | { readonly ok: true; readonly input: PlanInput; readonly change: PlanChange }
  | { readonly ok: false; readonly faults: readonly PlanFault[] };

/** Reads a whole plan and says how the current one must change to become it, or everything that is wrong with it. */
export function readPlan(source: PlanSource, current: Plan | null, standing: Standing): PlanReading {
  const document = readPlanDocument(source);
  if (!document.ok) return document;
  const { input, locate } = document;
  const change = diffPlan(current, input);
  const faults = current === null ? [] : standingFaults(current, { input, locate }, change, standing);
  return faults.length > 0 ? { ok: false, faults } : { ok: true, input, change };
}

/** What work that was begun has against a change; where it is written in the plan that is wanted. */
export function standingFaults(
  current: Plan,
  { input, locate }: { readonly input: PlanInput; readonly locate: Locate },
  change: PlanChange,
  standing: Standing,
): PlanFault[] {
  const faults = new FaultList(locate);
  checkStanding(current, change, (track, id) => pathIn(input, track, id), standing, faults);
  return faults.inOrder();
}

const pathIn = ({ tracks }: PlanInput, track: string, id: string): (string | number)[] => [
  'tracks',
  track,
  (tracks[track] ?? []).findIndex((task) => task.id === id),
];
