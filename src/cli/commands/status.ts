import type { ProjectStatus } from '../../core/views/index.js';
import { Workspace } from '../../workspace/workspace.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { type CommandFailure, failureWithCode, wrongUsage } from '../exit.js';
import type { StatusOptions } from '../methodology/status-options.js';
import { unwrapReply } from '../replies.js';
import { show, watch } from '../watch.js';

export const addStatus: AddCommands = (program, wrapAction) => {
  program
    .command('status')
    .description('how far the work is, who is at work, what waits for a human')
    .option('--watch', 'stay, and show every change as it happens')
    .option('--feature <id>', 'all that is known of one feature')
    .option('--health', 'what is wrong, or soon will be; exit code 1 where something is')
    .option('--gantt', 'the features over time, as a Mermaid diagram')
    .option('--write', 'with --gantt: into .ai-workspace/STATUS.md')
    .option('--log <file>', 'of a log of another tool of the family, which is only read')
    .addHelpText(
      'after',
      `
Examples:
  gen status                                 in a workspace: its features; elsewhere: the server's plan
  gen status --feature REQ-F-AUTH-001
  gen status --health
  gen status --gantt --write
  gen status --log ../other/.ai-workspace/events/events.jsonl`,
    )
    .action(wrapAction(status));
  program.command('agents').description('who has worked here, and on what').action(wrapAction(agents));
  program.command('sessions').description('the sessions of this tenant').action(wrapAction(sessions));
};

async function status(context: CommandContext, options: StatusOptions): Promise<void> {
  const { feature, health, gantt, log } = options;
  if (options.write === true && gantt !== true)
    throw wrongUsage('What is to be written? Say --gantt --write.');
  const isByFeature = feature !== undefined || health === true || gantt === true || log !== undefined;
  if (!isByFeature && Workspace.find(context.io.cwd) === null) return planStatus(context, options);
  // Lazy import: the plan status does not pay its load time.
  const { methodologyStatus } = await import('../methodology/status.js');
  return methodologyStatus(context, options);
}

async function planStatus(context: CommandContext, options: StatusOptions): Promise<void> {
  const genesis = await context.genesis();
  const { statusText } = await import('../output/overview.js');
  const render = async () => {
    const current = unwrapReply(await genesis.status());
    return { json: current, text: statusText(current, context) };
  };
  if (options.watch !== true) {
    const current = await render();
    if (current.json.position === 0) throw unknownProject(current.json);
    return show(context, current);
  }
  return watch(context, render, async (onChange, signal) => {
    for await (const _ of genesis.follow({ after: 'now' }, { signal })) onChange();
  });
}

/**
 * The server answers for any project name. A project without events is most likely a typo, so the CLI reports it.
 */
const unknownProject = ({ project_id, tenant_id }: ProjectStatus): CommandFailure =>
  failureWithCode(
    'NOT_FOUND',
    `There is no project ${project_id} of ${tenant_id} there: nothing was ever written in it. Check the name, or give it a plan: gen plan import FILE`,
  );

async function agents(context: CommandContext): Promise<void> {
  const genesis = await context.genesis();
  const { agentsText } = await import('../output/overview.js');
  context.show(unwrapReply(await genesis.agents()), ({ agents }) => agentsText(agents, context));
}

async function sessions(context: CommandContext): Promise<void> {
  const reply = await (await context.genesisForTenant()).sessions();
  const { sessionsText } = await import('../output/overview.js');
  context.show(unwrapReply(reply), ({ sessions }) => sessionsText(sessions, context));
}
