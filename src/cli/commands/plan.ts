import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Genesis } from '../../client/index.js';
import { projectIdSchema } from '../../core/ids.js';
import { NOTHING_STARTED, type PlanInput, readPlan } from '../../core/plan/index.js';
import { plannedTask, subtaskCount } from '../../core/plan/task.js';
import type { TaskState } from '../../core/views/index.js';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { CommandFailure, unreadable, wrongUsage } from '../exit.js';
import { drawPlan } from '../output/plan.js';
import { progress } from '../output/progress.js';
import { count, plainText } from '../output/text.js';
import { expected } from '../replies.js';

const PAGE = 1000;

export const addPlan: AddCommands = (program, act) => {
  const plan = program.command('plan').description('the plan: its tracks, tasks and what they wait for');
  plan
    .command('import <file>')
    .description('make this the plan (YAML or JSON; - reads standard input)')
    .addHelpText(
      'after',
      '\nThe project is the one the plan names, unless --project or GENESIS_PROJECT says another.',
    )
    .action(act(importPlan));
  plan
    .command('check <file>')
    .description('find everything that is wrong with a plan, without a server')
    .action(act(check));
  plan
    .command('show')
    .description('draw tracks and dependencies, with how each task stands')
    .action(act(show));
};

async function importPlan(context: Context, file: string): Promise<void> {
  const source = await sourceOf(context, file);
  const input = soundPlan(file, source);
  const project = projectOf(context, input);
  const place = { url: context.url, tenant: context.tenant, project };
  const { url, token } = await context.server();
  const genesis = await context.genesisAt({ ...place, url }, token);
  const reply = expected(await genesis.putPlan(source));
  await context.memory.keepProject(place);
  context.show(reply, ({ version, added, changed, removed, task_count }) => {
    const changes = `${added} added, ${changed} changed, ${removed} removed`;
    return `${project} is at version ${version} of its plan: ${count(task_count, 'task')}${partsText(input)} (${changes})`;
  });
}

async function check(context: Context, file: string): Promise<void> {
  const input = soundPlan(file, await sourceOf(context, file));
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
      `${file} is sound: ${count(tracks, 'track')}, ${count(tasks.length, 'task')}${partsText(input)}`,
  );
}

/** Parts are work of their own, and are counted beside the tasks by gen status. */
function partsText({ tracks }: PlanInput): string {
  const tasks = Object.values(tracks).flat();
  const parts = tasks.reduce((sum, task) => sum + subtaskCount(plannedTask(task)), 0);
  return parts === 0 ? '' : `, ${count(parts, 'part')}`;
}

/** The plan that the text is; where it is none, everything that is wrong with it. */
function soundPlan(file: string, yaml: string): PlanInput {
  const reading = readPlan({ yaml }, null, NOTHING_STARTED);
  if (reading.ok) return reading.input;
  const { faults } = reading;
  const lines = faults.map(({ line, column, path, code, message }) => {
    const at = line === undefined ? `${file}: ${path}` : `${file}:${line}:${column ?? 1}`;
    return `${at}: ${code}: ${plainText(message)}`;
  });
  throw new CommandFailure(
    [...lines, `${count(faults.length, 'fault')}. Nothing was changed.`].join('\n'),
    1,
    {
      ok: false,
      faults,
    },
  );
}

function projectOf(context: Context, { project }: PlanInput): string {
  const named = context.named_project ?? project;
  if (named === undefined)
    throw wrongUsage('The plan names no project. Say --project NAME, or write project: NAME into it.');
  const read = projectIdSchema.safeParse(named);
  if (read.success) return read.data;
  throw wrongUsage(
    `${JSON.stringify(named)} names no project: ${read.error.issues[0]?.message}. Say --project NAME.`,
  );
}

async function sourceOf({ io }: Context, file: string): Promise<string> {
  try {
    return file === '-' ? await text(io.stdin) : await readFile(resolve(io.cwd, file), 'utf8');
  } catch (error) {
    throw unreadable(file, error);
  }
}

async function show(context: Context): Promise<void> {
  const genesis = await context.genesis();
  const reply = expected(await genesis.plan());
  if (context.is_json) return context.printJson(reply);
  const waiting = progress(context.io, 'reading the plan');
  const states = await allTasks(genesis).finally(() => waiting.stop());
  context.print(drawPlan(genesis.project, reply, states, context));
}

async function allTasks(genesis: Genesis): Promise<Map<string, TaskState>> {
  const states = new Map<string, TaskState>();
  let after: string | null = null;
  do {
    const page: { tasks: TaskState[]; next: string | null } = expected(
      await genesis.tasks({ limit: PAGE, ...(after === null ? {} : { after }) }),
    );
    for (const state of page.tasks) states.set(state.task_id, state);
    after = page.next;
  } while (after !== null);
  return states;
}
