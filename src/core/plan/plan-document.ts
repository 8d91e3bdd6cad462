import { z } from 'zod';
import type { Locate, Path } from '../yaml/place.js';
import { checkJson, fits } from '../yaml/shape.js';
import type { PlanInput } from './change.js';
import { type Candidate, checkTogether, PLAN_SUBJECTS_MAX } from './check.js';
import { FaultList, type PlanFault } from './faults.js';
import { emptyPlan } from './plan.js';
import { readYaml } from './plan-yaml.js';
import { plannedTask, type TaskInput } from './task.js';
import { isTaskId, parseTaskId, TRACK_PATTERN } from './task-id.js';
import { taskInputSchema } from './task-schema.js';

const PROJECT_LENGTH_MAX = 128;
const outlineSchema = z.strictObject({
  project: z.string().min(1).max(PROJECT_LENGTH_MAX).optional(),
  tracks: z.record(z.string(), z.array(z.unknown())),
});

/** The text of a YAML file, or a JSON value of the same shape. */
export type PlanSource = { readonly yaml: string } | { readonly json: unknown };

/** A plan as it is written, judged by itself, whatever plan it comes to replace. */
export type PlanDocument =
  | { readonly ok: true; readonly input: PlanInput; readonly locate: Locate }
  | { readonly ok: false; readonly faults: readonly PlanFault[] };

export function readPlanDocument(source: PlanSource): PlanDocument {
  const { value, faults } =
    'yaml' in source ? readYaml(source.yaml) : { value: source.json, faults: new FaultList() };
  if (value === undefined && !faults.empty) return { ok: false, faults: faults.inOrder() };
  const outline = readOutline(value, faults);
  if (outline === null) return { ok: false, faults: faults.inOrder() };
  const { candidates, inputs, legible } = readTasks(outline.tracks, faults);
  checkTogether(emptyPlan(), candidates, legible, faults);
  if (!faults.empty) return { ok: false, faults: faults.inOrder() };
  const input: PlanInput = {
    ...(outline.project === undefined ? {} : { project: outline.project }),
    tracks: Object.fromEntries(inputs),
  };
  return { ok: true, input, locate: faults.locate };
}

interface Outline {
  readonly project?: string;
  readonly tracks: [track: string, items: unknown[]][];
}

/** The plan's headings. Null when there is no point in looking at its tasks. */
function readOutline(value: unknown, faults: FaultList): Outline | null {
  if (!checkJson(value, [], faults)) return null;
  fits(outlineSchema, value, [], faults);
  const { project, tracks } = (value ?? {}) as { project?: unknown; tracks?: unknown };
  if (typeof tracks !== 'object' || tracks === null) return null;
  // A heading that is no list has been told; what stands under the others is read all the same.
  const lists = Object.entries(tracks).filter((entry): entry is [string, unknown[]] =>
    Array.isArray(entry[1]),
  );
  const count = lists.reduce((sum, [, items]) => sum + items.length, 0);
  if (count > PLAN_SUBJECTS_MAX) {
    faults.add(
      'TOO_MANY_TASKS',
      ['tracks'],
      `The plan has ${count} tasks; at most ${PLAN_SUBJECTS_MAX} fit.`,
    );
    return null;
  }
  return { ...(typeof project === 'string' ? { project } : {}), tracks: lists };
}

function readTasks(tracks: Outline['tracks'], faults: FaultList) {
  const candidates: Candidate[] = [];
  const inputs = new Map<string, TaskInput[]>();
  const legible = new Set<string>();
  for (const [track, items] of tracks) {
    if (!TRACK_PATTERN.test(track)) {
      const said = `${JSON.stringify(track)} is not a track: a track is one to eight capital letters.`;
      faults.add('BAD_VALUE', ['tracks', track], said);
    }
    const read: TaskInput[] = [];
    for (const [at, item] of items.entries()) {
      if (faults.full) break;
      const path = ['tracks', track, at];
      const input = readTask(item, track, path, faults);
      if (input === null) {
        const id = (item as { id?: unknown } | null)?.id;
        if (typeof id === 'string' && isTaskId(id)) legible.add(id);
        continue;
      }
      read.push(input);
      candidates.push({ task: plannedTask(input), path, is_growth: false });
    }
    inputs.set(track, read);
  }
  return { candidates, inputs, legible };
}

const soundPartSchema = z.object({
  id: taskInputSchema.shape.id,
  // Whoever spelt it wrong may mean to wait for nothing: to say that it waits for its neighbour could be a fault too many.
  depends_on: taskInputSchema.shape.depends_on.default([]).catch([]),
  subtasks: taskInputSchema.shape.subtasks,
});

/** What a task with faults says of its place and of what it waits for, so that what is wrong there is found as well. */
function soundPart(item: unknown): TaskInput | null {
  const read = soundPartSchema.safeParse(item);
  return read.success ? { description: '', ...read.data } : null;
}

/** One task as it stands under its heading; null when it cannot be placed at all. */
function readTask(item: unknown, track: string, path: Path, faults: FaultList): TaskInput | null {
  const input = fits(taskInputSchema, item, path, faults) ?? soundPart(item);
  if (input === null) return null;
  const reading = parseTaskId(input.id);
  if (!reading.ok || reading.id.parent !== null) {
    const said = reading.ok
      ? `${input.id} is a subtask; write it under the subtasks of ${reading.id.parent}.`
      : reading.message;
    faults.add('BAD_ID', [...path, 'id'], said);
    return null;
  }
  if (reading.id.track !== track) {
    const said = `${input.id} belongs to track ${reading.id.track} but stands under ${track}; move it there or correct its id.`;
    faults.add('WRONG_TRACK', [...path, 'id'], said);
  }
  return input;
}
