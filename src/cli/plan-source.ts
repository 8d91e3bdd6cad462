import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Genesis } from '../client/index.js';
import { isProblem } from '../client/replies.js';
import type { PlanInput } from '../core/contract/plan.js';
import type { AtQuery } from '../core/contract/schema.js';
import type { TaskState } from '../core/contract/tasks.js';
import {
  type CurrentPlan,
  detectPlanFormat,
  type ImportedPlan,
  importPlan,
  type MappedItem,
  NO_CURRENT_PLAN,
  type PlanFormat,
} from '../core/plan/import/index.js';
import { NOTHING_STARTED, type PlanFault, readPlan } from '../core/plan/index.js';
import { withoutUndefined } from '../core/without-undefined.js';
import type { CommandContext } from './context.js';
import { CommandFailure, EXIT, fileUnreadable } from './exit.js';
import { countText, singleLine } from './output/text.js';
import { problemFailure, unwrapReply } from './replies.js';

const PAGE_SIZE = 1000;
const NOT_FOUND_STATUS = 404;

/** A file from which a plan is made. */
export interface PlanSourceFile {
  readonly name: string;
  readonly text: string;
  readonly format: PlanFormat;
}

export async function readPlanSource(
  { io }: CommandContext,
  name: string,
  format: PlanFormat | undefined,
): Promise<PlanSourceFile> {
  try {
    const content = name === '-' ? await text(io.stdin) : await readFile(resolve(io.cwd, name), 'utf8');
    return { name, text: content, format: format ?? detectPlanFormat(name, content) };
  } catch (error) {
    throw fileUnreadable(name, error);
  }
}

/** Converts the file to a plan, or throws a failure that lists every fault. */
export function importedPlanOf(source: PlanSourceFile, current: CurrentPlan = NO_CURRENT_PLAN): ImportedPlan {
  const { name, text, format } = source;
  if (format !== 'plan') {
    const imported = importPlan(text, format, current);
    if (imported.ok) return imported;
    throw faultsFailure(name, imported.faults);
  }
  const parsed = readPlan({ yaml: text }, null, NOTHING_STARTED);
  if (!parsed.ok) throw faultsFailure(name, parsed.faults);
  return { ok: true, input: parsed.input, warnings: [], ...compareIds(parsed.input, current) };
}

/** Maps each task of a plan file to its own id, and says which tasks are new, kept or removed. */
function compareIds({ tracks }: PlanInput, { plan }: CurrentPlan): Pick<ImportedPlan, 'mapping' | 'removed'> {
  const currentIds = new Set(Object.values(plan?.tracks ?? {}).flatMap((tasks) => tasks.map(({ id }) => id)));
  const mapping = Object.values(tracks)
    .flat()
    .map(
      ({ id, description }): MappedItem => ({
        original_id: id,
        task_id: id,
        title: description,
        status: currentIds.has(id) ? 'kept' : 'new',
      }),
    );
  const ids = new Set(mapping.map(({ original_id }) => original_id));
  return { mapping, removed: [...currentIds].filter((id) => !ids.has(id)) };
}

function faultsFailure(file: string, faults: readonly PlanFault[]): CommandFailure {
  const lines = faults.map(({ line, column, path, code, message }) => {
    const position = line === undefined ? `${file}: ${path}` : `${file}:${line}:${column ?? 1}`;
    return `${position}: ${code}: ${singleLine(message)}`;
  });
  const summary = `${countText(faults.length, 'fault')}. Nothing was changed.`;
  return new CommandFailure([...lines, summary].join('\n'), EXIT.refused, { ok: false, faults });
}

/** The plan of the project, its version, and which of its tasks were started. A new project has version 0 and no plan. */
export async function currentPlanOf(genesis: Genesis): Promise<CurrentPlan & { readonly version: number }> {
  const reply = await genesis.plan();
  if (isProblem(reply)) {
    if (reply.status === NOT_FOUND_STATUS) return { ...NO_CURRENT_PLAN, version: 0 };
    throw problemFailure(reply);
  }
  const { plan, version } = reply;
  if (version === 0) return { ...NO_CURRENT_PLAN, version };
  const started = new Set<string>();
  for (const { task_id, generation } of (await allTasks(genesis)).values()) {
    if (generation > 0) started.add(task_id.replace(/::.*$/, ''));
  }
  return { plan, version, isStarted: (taskId) => started.has(taskId) };
}

export async function allTasks(genesis: Genesis, options: AtQuery = {}): Promise<Map<string, TaskState>> {
  const states = new Map<string, TaskState>();
  let after: string | undefined;
  do {
    const filter = { ...options, limit: PAGE_SIZE, ...withoutUndefined({ after }) };
    const { tasks, next } = unwrapReply(await genesis.tasks(filter));
    for (const state of tasks) states.set(state.task_id, state);
    after = next ?? undefined;
  } while (after !== undefined);
  return states;
}
