import type { Command } from 'commander';
import { kindOf } from '../../core/subject.js';
import { lineageTable } from '../../core/views/index.js';
import type { Act, AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { lineageText } from '../output/lineage.js';
import { taskText } from '../output/task.js';
import { clockTime } from '../output/text.js';
import { seconds } from '../read-options.js';
import { expected, refuse } from '../replies.js';
import { taken } from '../taking.js';
import { addHolderCommands } from './holder.js';
import { addOperatorCommands } from './operate.js';
import { addSubmit } from './submit.js';
import { addTaskAdd } from './task-add.js';

export const addTask: AddCommands = (program, act) => {
  const task = program
    .command('task')
    .description('one piece of work: take it, hand it in, look at it, rule on it');
  task
    .command('claim <id>')
    .description('take a piece of work')
    .option('--lease <seconds>', 'how long you may be silent', seconds)
    .option('--role <role>', 'the role you work in')
    .addHelpText(
      'after',
      `
An edge of a feature is named FEATURE#EDGE. In a workspace you are told where to write, and which checks the edge asks
for. Where one agent works alone, it is primary, in the role full_stack, and has no lease to renew.

Examples:
  gen task claim A-001-schema --lease 10m
  gen task claim REQ-F-AUTH-001#design_code --role architect`,
    )
    .action(act(claim));
  addHolderCommands(task, act);
  addSubmit(task, act);
  addLooking(task, act);
  addTaskAdd(task, act);
  addOperatorCommands(task, act);
};

function addLooking(task: Command, act: Act): void {
  task.command('show <id>').description('how it stands now').action(act(show));
  task
    .command('history <id>')
    .description('its lineage: every generation, who had it, what became of it')
    .action(act(history));
  task
    .command('explain <id>')
    .description('every rule that stands between an agent and this work')
    .action(act(explain));
}

async function claim(
  context: Context,
  task_id: string,
  options: { lease?: number; role?: string },
): Promise<void> {
  const genesis = await context.genesis();
  const reply = await genesis.claimTask({
    task_id,
    agent_id: await context.agent(),
    session_id: await context.session(),
    ...(options.lease === undefined ? {} : { lease_duration_seconds: options.lease }),
    ...(options.role === undefined ? {} : { agent_role: options.role }),
    ...(kindOf(task_id) === 'edge' ? {} : { with_briefing: true }),
  });
  const told = expected(reply);
  if (told.success || told.current_holder !== (await context.agent())) return taken(context, told);
  refuse(context, told, await ownClaim(context, task_id));
}

/** Which claim it is that the caller has forgotten. */
async function ownClaim(context: Context, task_id: string): Promise<string> {
  const genesis = await context.genesis();
  const { claim, generation } = expected(await genesis.task(task_id));
  const { expires_at = null, session_id = '' } = claim ?? {};
  const until = expires_at === null ? '' : `, until ${clockTime(expires_at)} UTC`;
  const where = session_id === (await context.session()) ? '' : `, in session ${session_id}`;
  return `you hold it (generation ${generation}${until}${where}).`;
}

async function show(context: Context, task_id: string): Promise<void> {
  const genesis = await context.genesis();
  const state = expected(await genesis.task(task_id));
  if (context.is_json) return context.printJson(state);
  const lineage = expected(await genesis.history(task_id));
  context.print(taskText(state, lineage, context));
}

async function history(context: Context, task_id: string): Promise<void> {
  const genesis = await context.genesis();
  const lineage = expected(await genesis.history(task_id));
  context.show(lineage, () => lineageText(lineage, lineageTable(lineage), context));
}

async function explain(context: Context, task_id: string): Promise<void> {
  const genesis = await context.genesis();
  context.show(expected(await genesis.explain(task_id)), ({ claimable, why, next }) =>
    [
      `${task_id} ${claimable ? context.paint.green('can be claimed') : context.paint.yellow('cannot be claimed')}`,
      ...why.map(({ rule, says }) => `  ${rule}: ${says}`),
      next,
    ].join('\n'),
  );
}
