import { InvalidArgumentError } from 'commander';
import type { PlanInput, PlanResult } from '../../core/contract/plan.js';
import { projectIdSchema } from '../../core/ids.js';
import { type ImportedPlan, PLAN_FORMATS, type PlanFormat } from '../../core/plan/import/index.js';
import { plannedTask, subtaskCount } from '../../core/plan/task.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { wrongUsage } from '../exit.js';
import { AT_OPTION } from '../option-parsers.js';
import { drawPlan } from '../output/plan.js';
import { startProgress } from '../output/progress.js';
import { countText } from '../output/text.js';
import {
  allTasks,
  currentPlanOf,
  importedPlanOf,
  type PlanSourceFile,
  readPlanSource,
} from '../plan-source.js';
import { unwrapReply } from '../replies.js';

const FORMAT_OPTION = {
  '--format <format>': {
    about: 'plan, markdown or issues (default: by the name and the content of the file)',
    parse: parseFormat,
  },
} as const;

const importFile = defineCommand('import <file>', {
  description: 'import a plan, a Markdown checklist or a JSON list of issues (- reads standard input)',
  options: { ...FORMAT_OPTION, '--dry-run': 'show which task each item becomes, and change nothing' },
  help: `
The project is the one named in the plan, unless --project or GENESIS_PROJECT is set. The file replaces the whole plan. Items
that were imported before keep their task ids, with their claims and results. The formats: docs/plan.md.

Examples:
  gen plan import plan.yml
  gen plan import TODO.md --project shop --dry-run
  gh issue list --json number,title,body,labels,state | gen plan import - --project shop`,
  async run(context, file, { format, dryRun }) {
    const source = await readPlanSource(context, file, format);
    // Finds the faults of the file before any request to a server.
    const { input } = importedPlanOf(source);
    const projectId = projectOf(context, input);
    const target = { url: context.url, tenant: context.tenant, project: projectId };
    const { url, token } = await context.server();
    const genesis = await context.genesisAt({ ...target, url }, token);
    if (dryRun)
      return showMapping(context, source, projectId, importedPlanOf(source, await currentPlanOf(genesis)));
    if (source.format === 'plan') {
      const reply = unwrapReply(await genesis.putPlan(source.text));
      await context.state.saveProject(target);
      return context.printReply(reply, () => importText(projectId, reply, input));
    }
    const current = await currentPlanOf(genesis);
    const imported = importedPlanOf(source, current);
    // The ids depend on the plan that was read: refuse the import if it has changed since.
    const reply = unwrapReply(await genesis.putPlan(imported.input, { if_match: current.version }));
    await context.state.saveProject(target);
    context.warnAll(imported.warnings);
    const { mapping, warnings } = imported;
    context.printReply({ ...reply, mapping, warnings }, () => importText(projectId, reply, imported.input));
  },
});

function parseFormat(text: string): PlanFormat {
  const format = PLAN_FORMATS.find((each) => each === text);
  if (format === undefined) throw new InvalidArgumentError(`Expected one of: ${PLAN_FORMATS.join(', ')}.`);
  return format;
}

function importText(projectId: string, reply: PlanResult, input: PlanInput): string {
  const { version, added, changed, removed, task_count } = reply;
  const changes = `${added} added, ${changed} changed, ${removed} removed`;
  return `${projectId}: plan version ${version}, ${countText(task_count, 'task')}${subtasksText(input)} (${changes})`;
}

function showMapping(
  context: CommandContext,
  { format }: PlanSourceFile,
  projectId: string,
  { mapping, removed, warnings, input }: ImportedPlan,
): void {
  context.warnAll(warnings);
  context.printReply(
    { dry_run: true, project: projectId, format, mapping, removed, warnings, plan: input },
    () => [
      context.table(mapping, [
        { title: 'Original id', cell: ({ original_id }) => original_id, is_flexible: true },
        { title: 'Task', cell: ({ task_id }) => task_id ?? '', is_flexible: true },
        { title: 'Status', cell: ({ status }) => status, is_fixed: true },
        { title: 'Title', cell: ({ title }) => title, is_flexible: true },
      ]),
      ...(removed.length === 0 ? [] : [`Removed from the plan: ${removed.join(', ')}`]),
      `Nothing was changed. Without --dry-run, this file becomes the plan of ${projectId}.`,
    ],
  );
}

const check = defineCommand('check <file>', {
  description: 'list all errors in a plan or another file to import, without a server',
  options: FORMAT_OPTION,
  async run(context, file, { format }) {
    const { input } = importedPlanOf(await readPlanSource(context, file, format));
    const tracks = Object.keys(input.tracks).length;
    const tasks = Object.values(input.tracks).flat().length;
    context.printReply(
      { ok: true, project: input.project ?? null, tracks, tasks },
      () =>
        `${file} is valid: ${countText(tracks, 'track')}, ${countText(tasks, 'task')}${subtasksText(input)}`,
    );
  },
});

const show = defineCommand('show', {
  description: 'draw the tracks and dependencies, with the state of each task',
  options: AT_OPTION,
  async run(context, { at }) {
    const genesis = await context.genesis();
    const atQuery = withoutUndefined({ at });
    const reply = unwrapReply(await genesis.plan(atQuery));
    if (context.is_json) return context.printJson(reply);
    const spinner = startProgress(context.io, 'reading the plan');
    const states = await allTasks(genesis, atQuery).finally(() => spinner.stop());
    context.print(drawPlan(genesis.project, reply, states, context));
  },
});

export const planCommand = defineCommand('plan', {
  description: 'manage the plan: tracks, tasks and dependencies',
  subcommands: [importFile, check, show],
});

/** The number of subtasks as text, empty if there are none. It is not part of the number of tasks. */
function subtasksText({ tracks }: PlanInput): string {
  const tasks = Object.values(tracks).flat();
  const subtasksTotal = tasks.reduce((sum, task) => sum + subtaskCount(plannedTask(task)), 0);
  return subtasksTotal === 0 ? '' : `, ${countText(subtasksTotal, 'subtask')}`;
}

function projectOf(context: CommandContext, { project }: PlanInput): string {
  const projectName = context.explicitProject ?? project;
  if (projectName === undefined)
    throw wrongUsage('The file names no project. Pass --project NAME, or add project: NAME to a plan.');
  const parsed = projectIdSchema.safeParse(projectName);
  if (parsed.success) return parsed.data;
  throw wrongUsage(
    `${JSON.stringify(projectName)} is not a valid project id: ${parsed.error.issues[0]?.message}. Pass --project NAME.`,
  );
}
