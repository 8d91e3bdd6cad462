import type { Path } from '../yaml/place.js';
import { FAULTS_MAX, type FaultList } from './faults.js';
import { findCycles, tasksOf } from './graph.js';
import { Plan, type PlanLookup } from './plan.js';
import { type PlannedTask, splitSubject, subtaskCount, subtaskId } from './task.js';
import { parseTaskId } from './task-id.js';

/** Tasks and subtasks of one project. */
export const PLAN_SUBJECTS_MAX = 1_000_000;
const CYCLE_SHOWN_MAX = 12;

/** A task that wants to be in the plan, and where it is written. */
export interface Candidate {
  readonly task: PlannedTask;
  readonly path: Path;
  /** Whether the plan has it already, and it comes with more subtasks. */
  readonly is_growth: boolean;
  /** Where its subtasks are written, if not inside it. */
  readonly subtask_paths?: ReadonlyMap<number, Path>;
}

/** Ids that are written in tasks too broken to read further: a dependency on one of them is not unknown. */
export type LegibleIds = ReadonlySet<string>;

/** Judges tasks together with the plan they come to. Gives back the tasks that have a place, as a plan of their own. */
export function checkTogether(
  base: Plan,
  candidates: readonly Candidate[],
  legible: LegibleIds,
  faults: FaultList,
): Plan {
  const fresh = new Plan();
  const placed = placeAll(base, fresh, candidates, faults);
  const grown = candidates.filter((one) => one.is_growth);
  const replaced = grown.reduce((sum, one) => sum + 1 + subtaskCount(base.task(one.task.id) ?? one.task), 0);
  const subjects = base.subject_count - replaced + fresh.subject_count;
  if (subjects > PLAN_SUBJECTS_MAX) {
    const said = `The plan would have ${subjects} tasks and subtasks; at most ${PLAN_SUBJECTS_MAX} fit into a project.`;
    faults.add('TOO_MANY_TASKS', candidates[0]?.path.slice(0, 1) ?? [], said);
    return fresh;
  }
  const lookup = overlay(base, fresh);
  for (const candidate of placed.values()) {
    const sound = checkWaits(candidate, lookup, legible, faults);
    if (sound !== candidate.task) fresh.put(sound);
  }
  tellCycles(
    leadsBack(base, fresh) ? lookup : { ...lookup, task: (id) => fresh.task(id) },
    fresh,
    placed,
    faults,
  );
  return fresh;
}

/** Whether anything of the plan waits for what is new. Where nothing does, no circle leads through the plan. */
function leadsBack(base: Plan, fresh: Plan): boolean {
  for (const { id, track, sequence } of fresh.tasks()) {
    if (base.task(id) !== undefined || base.after(track, sequence)?.depends_on === null) return true;
  }
  return false;
}

/** The plan as it would be. Nothing is taken away here, so the new is simply laid over the old. */
function overlay(base: Plan, fresh: Plan): PlanLookup {
  return {
    task: (task_id) => fresh.task(task_id) ?? base.task(task_id),
    before(track, sequence) {
      const a = fresh.before(track, sequence);
      const b = base.before(track, sequence);
      return (a?.sequence ?? 0) >= (b?.sequence ?? 0) ? a : b;
    },
  };
}

/** No id twice, and no place of a track twice. */
function placeAll(base: Plan, fresh: Plan, candidates: readonly Candidate[], faults: FaultList) {
  const placed = new Map<string, Candidate>();
  for (const candidate of candidates) {
    const { task, path } = candidate;
    const same = placed.get(task.id);
    const beside = fresh.at(task.track, task.sequence) ?? base.at(task.track, task.sequence);
    if (!candidate.is_growth && (same !== undefined || base.task(task.id) !== undefined)) {
      const where = same === undefined ? 'in the plan already' : `also at ${faults.where(same.path)}`;
      faults.add('DUPLICATE_ID', [...path, 'id'], `${task.id} is ${where}; an id names one task.`);
    } else if (!candidate.is_growth && beside !== undefined) {
      const said = `${task.id} has the place of ${beside.id}: two tasks of track ${task.track} cannot both be number ${task.sequence}.`;
      faults.add('DUPLICATE_SEQUENCE', [...path, 'id'], said);
    } else {
      placed.set(task.id, candidate);
      fresh.put(task);
    }
  }
  return placed;
}

/** Every dependency must be there, and not be the task itself. Gives back the task without those that are wrong. */
function checkWaits(
  { task, path, subtask_paths }: Candidate,
  lookup: PlanLookup,
  legible: LegibleIds,
  faults: FaultList,
): PlannedTask {
  let wrong = 0;
  const soundOf = (owner: string, ids: readonly string[], at: Path): string[] =>
    ids.filter((id, index) => {
      const fault = waitFault(owner, id, lookup, legible);
      if (fault === null) return true;
      faults.add(fault.code, [...at, 'depends_on', index], fault.message);
      wrong += 1;
      return false;
    });
  const depends_on = task.depends_on === null ? null : soundOf(task.id, task.depends_on, path);
  let { subtasks } = task;
  if (typeof subtasks !== 'number') {
    subtasks = subtasks.map((subtask, at) => {
      if (subtask.depends_on === undefined) return subtask;
      const place = subtask_paths?.get(at + 1) ?? [...path, 'subtasks', at];
      return { ...subtask, depends_on: soundOf(subtaskId(task.id, at + 1), subtask.depends_on, place) };
    });
  }
  return wrong === 0 ? task : { ...task, depends_on, subtasks };
}

function waitFault(owner: string, id: string, lookup: PlanLookup, legible: LegibleIds) {
  const reading = parseTaskId(id);
  if (!reading.ok) return { code: 'BAD_ID' as const, message: reading.message };
  if (id === owner) {
    return { code: 'SELF_DEPENDENCY' as const, message: `${id} cannot wait for itself; take it out.` };
  }
  if (reading.id.parent === owner) {
    const message = `${owner} cannot begin after its own subtask ${id}; it waits for its subtasks anyway.`;
    return { code: 'SELF_DEPENDENCY' as const, message };
  }
  const { task_id, subtask_index } = splitSubject(id);
  const task = lookup.task(task_id);
  if (task === undefined) {
    if (legible.has(task_id)) return null;
    const message = `${owner} waits for ${id}, which is not in the plan; add it or correct the id.`;
    return { code: 'UNKNOWN_DEPENDENCY' as const, message };
  }
  if ((subtask_index ?? 0) <= subtaskCount(task)) return null;
  const message = `${owner} waits for ${id}, but ${task_id} has ${subtaskCount(task)} subtasks.`;
  return { code: 'UNKNOWN_DEPENDENCY' as const, message };
}

function tellCycles(
  lookup: PlanLookup,
  fresh: Plan,
  placed: ReadonlyMap<string, Candidate>,
  faults: FaultList,
): void {
  // A circle that was not there before leads through something new, so looking from there finds it.
  for (const cycle of findCycles(lookup, tasksOf(fresh), FAULTS_MAX)) {
    const first = cycle.findIndex((id) => placed.has(splitSubject(id).task_id));
    const turned = [...cycle.slice(first), ...cycle.slice(0, first)];
    const candidate = placed.get(splitSubject(turned[0] ?? '').task_id);
    if (candidate === undefined) continue;
    const said = `These wait for each other: ${circleText(turned)}. Take one of these dependencies out (a task without depends_on waits for the task before it in its track).`;
    faults.add('CYCLE', [...candidate.path, 'depends_on'], said);
  }
}

function circleText(cycle: readonly string[]): string {
  const shown = cycle.slice(0, CYCLE_SHOWN_MAX);
  const more = cycle.length - shown.length;
  return [...shown, ...(more > 0 ? [`… ${more} more …`] : []), cycle[0]].join(' → ');
}
