import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Genesis } from '../../client/index.js';
import type { PlanInput } from '../../core/contract/plan.js';
import type { TaskState } from '../../core/contract/tasks.js';
import { projectIdSchema } from '../../core/ids.js';
import { NOTHING_STARTED, readPlan } from '../../core/plan/index.js';
import { plannedTask, subtaskCount } from '../../core/plan/task.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { command } from '../command.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, EXIT, fileUnreadable, wrongUsage } from '../exit.js';
import { drawPlan } from '../output/plan.js';
import { startProgress } from '../output/progress.js';
import { countText, singleLine } from '../output/text.js';
import { unwrapReply } from '../replies.js';

const PAGE_SIZE = 1000;

const importPlan = command('import <file>', {
  description: 'import a plan (YAML or JSON; - reads standard input)',
  help: '\nThe project is the one named in the plan, unless --project or GENESIS_PROJECT is set.',
  async run(context, file) {
    const source = await readSource(context, file);
    const input = parsePlanOrFail(file, source);
    const project = projectOf(context, input);
    const target = { url: context.url, tenant: context.tenant, project };
    const { url, token } = await context.server();
    const genesis = await context.genesisAt({ ...target, url }, token);
    const reply = unwrapReply(await genesis.putPlan(source));
    await context.state.saveProject(target);
    context.show(reply, ({ version, added, changed, removed, task_count }) => {
      const changes = `${added} added, ${changed} changed, ${removed} removed`;
      return `${project}: plan version ${version}, ${countText(task_count, 'task')}${subtasksText(input)} (${changes})`;
    });
  },
});

const check = command('check <file>', {
  description: 'list all errors in a plan, without a server',
  async run(context, file) {
    const input = parsePlanOrFail(file, await readSource(context, file));
    const tracks = Object.keys(input.tracks).length;
    const tasks = Object.values(input.tracks).flat().length;
    context.show(
      { ok: true, project: input.project ?? null, tracks, tasks },
      () =>
        `${file} is valid: ${countText(tracks, 'track')}, ${countText(tasks, 'task')}${subtasksText(input)}`,
    );
  },
});

const show = command('show', {
  description: 'draw the tracks and dependencies, with the state of each task',
  async run(context) {
    const genesis = await context.genesis();
    const reply = unwrapReply(await genesis.plan());
    if (context.is_json) return context.printJson(reply);
    const spinner = startProgress(context.io, 'reading the plan');
    const states = await allTasks(genesis).finally(() => spinner.stop());
    context.print(drawPlan(genesis.project, reply, states, context));
  },
});

export const addPlan = command('plan', {
  description: 'manage the plan: tracks, tasks and dependencies',
  subcommands: [importPlan, check, show],
});

/** The subtask count. `gen status` counts subtasks in addition to tasks. */
function subtasksText({ tracks }: PlanInput): string {
  const tasks = Object.values(tracks).flat();
  const subtasksTotal = tasks.reduce((sum, task) => sum + subtaskCount(plannedTask(task)), 0);
  return subtasksTotal === 0 ? '' : `, ${countText(subtasksTotal, 'subtask')}`;
}

/** Parses a plan; throws a failure that lists every fault. */
function parsePlanOrFail(file: string, yaml: string): PlanInput {
  const parsed = readPlan({ yaml }, null, NOTHING_STARTED);
  if (parsed.ok) return parsed.input;
  const { faults } = parsed;
  const lines = faults.map(({ line, column, path, code, message }) => {
    const position = line === undefined ? `${file}: ${path}` : `${file}:${line}:${column ?? 1}`;
    return `${position}: ${code}: ${singleLine(message)}`;
  });
  const summary = `${countText(faults.length, 'fault')}. Nothing was changed.`;
  throw new CommandFailure([...lines, summary].join('\n'), EXIT.refused, { ok: false, faults });
}

function projectOf(context: CommandContext, { project }: PlanInput): string {
  const projectName = context.explicitProject ?? project;
  if (projectName === undefined)
    throw wrongUsage('The plan names no project. Pass --project NAME, or add project: NAME to the plan.');
  const parsed = projectIdSchema.safeParse(projectName);
  if (parsed.success) return parsed.data;
  throw wrongUsage(
    `${JSON.stringify(projectName)} is not a valid project id: ${parsed.error.issues[0]?.message}. Pass --project NAME.`,
  );
}

async function readSource({ io }: CommandContext, file: string): Promise<string> {
  try {
    return file === '-' ? await text(io.stdin) : await readFile(resolve(io.cwd, file), 'utf8');
  } catch (error) {
    throw fileUnreadable(file, error);
  }
}

async function allTasks(genesis: Genesis): Promise<Map<string, TaskState>> {
  const states = new Map<string, TaskState>();
  let after: string | undefined;
  do {
    const filter = { limit: PAGE_SIZE, ...withoutUndefined({ after }) };
    const { tasks, next } = unwrapReply(await genesis.tasks(filter));
    for (const state of tasks) states.set(state.task_id, state);
    after = next ?? undefined;
  } while (after !== undefined);
  return states;
}
