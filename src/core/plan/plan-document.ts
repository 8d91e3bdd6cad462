import { z } from 'zod';
import type { PlanInput } from '../contract/plan.js';
import { checkJsonShape, parseWithSchema } from '../yaml/check-shape.js';
import { readYamlText } from '../yaml/read-yaml.js';
import type { DocumentPath, LocatePath } from '../yaml/source-position.js';
import { checkNewTasks, type NewTask, PLAN_SUBJECTS_MAX } from './check-new-tasks.js';
import { Plan } from './plan.js';
import { type PlanFault, PlanFaultList } from './plan-faults.js';
import { plannedTask, type TaskInput } from './task.js';
import { isTaskId, parseTaskId, TRACK_PATTERN } from './task-id.js';
import { taskInputSchema } from './task-schema.js';

/** Maximum length of the text of a plan, in characters. The text has at least as many bytes. */
export const PLAN_TEXT_LENGTH_MAX = 5 * 1024 * 1024;

const outlineSchema = z.strictObject({
  project: z.string().min(1).max(128).optional(),
  tracks: z.record(z.string(), z.array(z.unknown())),
});

/** The text of a YAML file, or a JSON value of the same shape. */
export type PlanSource = { readonly yaml: string } | { readonly json: unknown };

/** A plan document checked on its own, regardless of the plan it replaces. */
export type ParsedPlanDocument =
  | { readonly ok: true; readonly input: PlanInput; readonly locate: LocatePath }
  | { readonly ok: false; readonly faults: readonly PlanFault[] };

export function readPlanDocument(source: PlanSource): ParsedPlanDocument {
  const { value, faults } =
    'yaml' in source ? readPlanYaml(source.yaml) : { value: source.json, faults: new PlanFaultList() };
  const outline = value === undefined && !faults.isEmpty ? null : readOutline(value, faults);
  if (outline === null) return { ok: false, faults: faults.sorted() };
  const { newTasks, inputs, faultyTaskIds } = readTasks(outline.tracks, faults);
  checkNewTasks(new Plan(), newTasks, faultyTaskIds, faults);
  if (!faults.isEmpty) return { ok: false, faults: faults.sorted() };
  const input: PlanInput = {
    ...(outline.project === undefined ? {} : { project: outline.project }),
    tracks: Object.fromEntries(inputs),
  };
  return { ok: true, input, locate: faults.locate };
}

/** Reads the text of a plan. The value is undefined if the text is too long or cannot be parsed. */
function readPlanYaml(text: string): { readonly value: unknown; readonly faults: PlanFaultList } {
  if (text.length > PLAN_TEXT_LENGTH_MAX) {
    const faults = new PlanFaultList();
    const message = `The plan has ${text.length} characters; at most ${PLAN_TEXT_LENGTH_MAX} are allowed. Send it as JSON, or add tasks in parts.`;
    faults.add('BAD_YAML', [], message);
    return { value: undefined, faults };
  }
  const { value, faults: yamlFaults, locate } = readYamlText(text, 'one');
  const faults = new PlanFaultList(locate);
  for (const { path, message, source_position } of yamlFaults)
    faults.add('BAD_YAML', path, message, source_position);
  return { value, faults };
}

interface PlanOutline {
  readonly project?: string;
  readonly tracks: [track: string, items: unknown[]][];
}

/** Reads the top level of the plan. Null if its tasks cannot be read. */
function readOutline(value: unknown, faults: PlanFaultList): PlanOutline | null {
  if (!checkJsonShape(value, [], faults)) return null;
  parseWithSchema(outlineSchema, value, [], faults);
  const { project, tracks } = (value ?? {}) as { project?: unknown; tracks?: unknown };
  if (typeof tracks !== 'object' || tracks === null) return null;
  // A track that is not a list is already reported. The other tracks are still read.
  const trackLists = Object.entries(tracks).filter((entry): entry is [string, unknown[]] =>
    Array.isArray(entry[1]),
  );
  const count = trackLists.reduce((sum, [, items]) => sum + items.length, 0);
  if (count > PLAN_SUBJECTS_MAX) {
    const message = `The plan has ${count} tasks; at most ${PLAN_SUBJECTS_MAX} are allowed. Split it into several projects.`;
    faults.add('TOO_MANY_TASKS', ['tracks'], message);
    return null;
  }
  return { ...(typeof project === 'string' ? { project } : {}), tracks: trackLists };
}

function readTasks(tracks: PlanOutline['tracks'], faults: PlanFaultList) {
  const newTasks: NewTask[] = [];
  const inputs = new Map<string, TaskInput[]>();
  const faultyTaskIds = new Set<string>();
  for (const [track, items] of tracks) {
    if (!TRACK_PATTERN.test(track)) {
      const message = `${JSON.stringify(track)} is not a track: a track is one to eight capital letters.`;
      faults.add('BAD_VALUE', ['tracks', track], message);
    }
    const taskInputs: TaskInput[] = [];
    for (const [index, item] of items.entries()) {
      if (faults.isFull) break;
      const path = ['tracks', track, index];
      const input = readTask(item, track, path, faults);
      if (input === null) {
        const id = (item as { id?: unknown } | null)?.id;
        if (typeof id === 'string' && isTaskId(id)) faultyTaskIds.add(id);
        continue;
      }
      taskInputs.push(input);
      newTasks.push({ task: plannedTask(input), path, adds_subtasks: false });
    }
    inputs.set(track, taskInputs);
  }
  return { newTasks, inputs, faultyTaskIds };
}

const validPartSchema = z.object({
  id: taskInputSchema.shape.id,
  // An invalid value becomes an empty list: as a missing value, it would mean a dependency on the previous task, which
  // could cause a false fault.
  depends_on: taskInputSchema.shape.depends_on.default([]).catch([]),
  subtasks: taskInputSchema.shape.subtasks,
});

/** The id and dependencies of an invalid task, so that faults in them are found too. */
function validPart(item: unknown): TaskInput | null {
  const parsed = validPartSchema.safeParse(item);
  return parsed.success ? { description: '', ...parsed.data } : null;
}

/** Parses one task of a track; null if it cannot be placed. */
function readTask(item: unknown, track: string, path: DocumentPath, faults: PlanFaultList): TaskInput | null {
  const input = parseWithSchema(taskInputSchema, item, path, faults) ?? validPart(item);
  if (input === null) return null;
  const parsed = parseTaskId(input.id);
  if (!parsed.ok || parsed.id.parent !== null) {
    const message = parsed.ok
      ? `${input.id} is a subtask; write it under the subtasks of ${parsed.id.parent}.`
      : parsed.message;
    faults.add('BAD_ID', [...path, 'id'], message);
    return null;
  }
  if (parsed.id.track !== track) {
    const message = `${input.id} belongs to track ${parsed.id.track} but is listed under ${track}; move it or correct its id.`;
    faults.add('WRONG_TRACK', [...path, 'id'], message);
  }
  return input;
}
