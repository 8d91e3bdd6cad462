import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Genesis } from '../../client/index.js';
import { projectIdSchema } from '../../core/ids.js';
import { NOTHING_STARTED, type PlanInput, readPlan } from '../../core/plan/index.js';
import { plannedTask, subtaskCount } from '../../core/plan/task.js';
import type { TaskState } from '../../core/views/index.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, fileUnreadable, wrongUsage } from '../exit.js';
import { drawPlan } from '../output/plan.js';
import { startProgress } from '../output/progress.js';
import { countText, singleLine } from '../output/text.js';
import { unwrapReply } from '../replies.js';

const PAGE_SIZE = 1000;

export const addPlan: AddCommands = (program, wrapAction) => {
  const plan = program.command('plan').description('the plan: its tracks, tasks and what they wait for');
  plan
    .command('import <file>')
    .description('make this the plan (YAML or JSON; - reads standard input)')
    .addHelpText(
      'after',
      '\nThe project is the one the plan names, unless --project or GENESIS_PROJECT says another.',
    )
    .action(wrapAction(importPlan));
  plan
    .command('check <file>')
    .description('find everything that is wrong with a plan, without a server')
    .action(wrapAction(check));
  plan
    .command('show')
    .description('draw tracks and dependencies, with how each task stands')
    .action(wrapAction(show));
};

async function importPlan(context: CommandContext, file: string): Promise<void> {
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
    return `${project} is at version ${version} of its plan: ${countText(task_count, 'task')}${subtasksText(input)} (${changes})`;
  });
}

async function check(context: CommandContext, file: string): Promise<void> {
  const input = parsePlanOrFail(file, await readSource(context, file));
  const tasks = Object.values(input.tracks).flat();
  const summary = {
    ok: true,
    project: input.project ?? null,
    tracks: Object.keys(input.tracks).length,
    tasks: tasks.length,
  };
  context.show(
    summary,
    ({ tracks }) =>
      `${file} is sound: ${countText(tracks, 'track')}, ${countText(tasks.length, 'task')}${subtasksText(input)}`,
  );
}

/** The subtask count. `gen status` counts subtasks beside tasks. */
function subtasksText({ tracks }: PlanInput): string {
  const tasks = Object.values(tracks).flat();
  const subtasksTotal = tasks.reduce((sum, task) => sum + subtaskCount(plannedTask(task)), 0);
  return subtasksTotal === 0 ? '' : `, ${countText(subtasksTotal, 'part')}`;
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
  throw new CommandFailure(
    [...lines, `${countText(faults.length, 'fault')}. Nothing was changed.`].join('\n'),
    1,
    {
      ok: false,
      faults,
    },
  );
}

function projectOf(context: CommandContext, { project }: PlanInput): string {
  const projectName = context.explicitProject ?? project;
  if (projectName === undefined)
    throw wrongUsage('The plan names no project. Say --project NAME, or write project: NAME into it.');
  const parsed = projectIdSchema.safeParse(projectName);
  if (parsed.success) return parsed.data;
  throw wrongUsage(
    `${JSON.stringify(projectName)} names no project: ${parsed.error.issues[0]?.message}. Say --project NAME.`,
  );
}

async function readSource({ io }: CommandContext, file: string): Promise<string> {
  try {
    return file === '-' ? await text(io.stdin) : await readFile(resolve(io.cwd, file), 'utf8');
  } catch (error) {
    throw fileUnreadable(file, error);
  }
}

async function show(context: CommandContext): Promise<void> {
  const genesis = await context.genesis();
  const reply = unwrapReply(await genesis.plan());
  if (context.is_json) return context.printJson(reply);
  const spinner = startProgress(context.io, 'reading the plan');
  const states = await allTasks(genesis).finally(() => spinner.stop());
  context.print(drawPlan(genesis.project, reply, states, context));
}

async function allTasks(genesis: Genesis): Promise<Map<string, TaskState>> {
  const states = new Map<string, TaskState>();
  let after: string | null = null;
  do {
    const page: { tasks: TaskState[]; next: string | null } = unwrapReply(
      await genesis.tasks({ limit: PAGE_SIZE, ...(after === null ? {} : { after }) }),
    );
    for (const state of page.tasks) states.set(state.task_id, state);
    after = page.next;
  } while (after !== null);
  return states;
}
