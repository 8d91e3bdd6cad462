import type { Command } from 'commander';
import { subjectKindOf } from '../../core/subject.js';
import { lineageTable } from '../../core/views/index.js';
import { showClaimReply } from '../claim-output.js';
import type { ActionWrapper, AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { parseSeconds } from '../option-parsers.js';
import { lineageText } from '../output/lineage.js';
import { taskText } from '../output/task.js';
import { clockTime } from '../output/text.js';
import { reportRefusal, unwrapReply } from '../replies.js';
import { addHolderCommands } from './holder.js';
import { addOperatorCommands } from './operate.js';
import { addSubmit } from './submit.js';
import { addTaskAdd } from './task-add.js';

export const addTask: AddCommands = (program, wrapAction) => {
  const task = program
    .command('task')
    .description('one piece of work: take it, hand it in, look at it, rule on it');
  task
    .command('claim <id>')
    .description('take a piece of work')
    .option('--lease <seconds>', 'how long you may be silent', parseSeconds)
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
    .action(wrapAction(claim));
  addHolderCommands(task, wrapAction);
  addSubmit(task, wrapAction);
  addInspectionCommands(task, wrapAction);
  addTaskAdd(task, wrapAction);
  addOperatorCommands(task, wrapAction);
};

function addInspectionCommands(task: Command, wrapAction: ActionWrapper): void {
  task.command('show <id>').description('how it stands now').action(wrapAction(show));
  task
    .command('history <id>')
    .description('its lineage: every generation, who had it, what became of it')
    .action(wrapAction(history));
  task
    .command('explain <id>')
    .description('every rule that stands between an agent and this work')
    .action(wrapAction(explain));
}

async function claim(
  context: CommandContext,
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
    ...(subjectKindOf(task_id) === 'edge' ? {} : { with_briefing: true }),
  });
  const outcome = unwrapReply(reply);
  if (outcome.success || outcome.current_holder !== (await context.agent()))
    return showClaimReply(context, outcome);
  reportRefusal(context, outcome, await ownClaimText(context, task_id));
}

/** Describes the claim that the caller already holds. */
async function ownClaimText(context: CommandContext, taskId: string): Promise<string> {
  const genesis = await context.genesis();
  const { claim, generation } = unwrapReply(await genesis.task(taskId));
  const { expires_at = null, session_id = '' } = claim ?? {};
  const until = expires_at === null ? '' : `, until ${clockTime(expires_at)} UTC`;
  const where = session_id === (await context.session()) ? '' : `, in session ${session_id}`;
  return `you hold it (generation ${generation}${until}${where}).`;
}

async function show(context: CommandContext, taskId: string): Promise<void> {
  const genesis = await context.genesis();
  const state = unwrapReply(await genesis.task(taskId));
  if (context.is_json) return context.printJson(state);
  const lineage = unwrapReply(await genesis.history(taskId));
  context.print(taskText(state, lineage, context));
}

async function history(context: CommandContext, taskId: string): Promise<void> {
  const genesis = await context.genesis();
  const lineage = unwrapReply(await genesis.history(taskId));
  context.show(lineage, () => lineageText(lineage, lineageTable(lineage), context));
}

async function explain(context: CommandContext, taskId: string): Promise<void> {
  const genesis = await context.genesis();
  context.show(unwrapReply(await genesis.explain(taskId)), ({ claimable, why, next }) =>
    [
      `${taskId} ${claimable ? context.paint.green('can be claimed') : context.paint.yellow('cannot be claimed')}`,
      ...why.map(({ rule, says }) => `  ${rule}: ${says}`),
      next,
    ].join('\n'),
  );
}
