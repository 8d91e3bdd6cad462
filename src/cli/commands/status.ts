import type { ProjectStatus } from '../../core/views/index.js';
import { Workspace } from '../../workspace/workspace.js';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { type CommandFailure, failed, wrongUsage } from '../exit.js';
import type { StatusOptions } from '../methodology/status-options.js';
import { expected } from '../replies.js';
import { show, watch } from '../watch.js';

export const addStatus: AddCommands = (program, act) => {
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
    .action(act(status));
  program.command('agents').description('who has worked here, and on what').action(act(agents));
  program.command('sessions').description('the sessions of this tenant').action(act(sessions));
};

async function status(context: Context, options: StatusOptions): Promise<void> {
  const { feature, health, gantt, log } = options;
  if (options.write === true && gantt !== true)
    throw wrongUsage('What is to be written? Say --gantt --write.');
  const by_features = feature !== undefined || health === true || gantt === true || log !== undefined;
  if (!by_features && Workspace.find(context.io.cwd) === null) return planStatus(context, options);
  // Loaded here alone: who asks for a plan does not wait for it.
  const { methodologyStatus } = await import('../methodology/status.js');
  return methodologyStatus(context, options);
}

async function planStatus(context: Context, options: StatusOptions): Promise<void> {
  const genesis = await context.genesis();
  const { statusText } = await import('../output/overview.js');
  const look = async () => {
    const now = expected(await genesis.status());
    return { json: now, text: statusText(now, context) };
  };
  if (options.watch !== true) {
    const now = await look();
    if (now.json.position === 0) throw unknownProject(now.json);
    return show(context, now);
  }
  return watch(context, look, async (changed, signal) => {
    for await (const _ of genesis.follow({ after: 'now' }, { signal })) changed();
  });
}

/** The server has an answer for every name. To a person one that nothing was ever written under is a slip of the hand. */
const unknownProject = ({ project_id, tenant_id }: ProjectStatus): CommandFailure =>
  failed(
    'NOT_FOUND',
    `There is no project ${project_id} of ${tenant_id} there: nothing was ever written in it. Check the name, or give it a plan: gen plan import FILE`,
  );

async function agents(context: Context): Promise<void> {
  const genesis = await context.genesis();
  const { agentsText } = await import('../output/overview.js');
  context.show(expected(await genesis.agents()), ({ agents }) => agentsText(agents, context));
}

async function sessions(context: Context): Promise<void> {
  const reply = await (await context.genesisOfTenant()).sessions();
  const { sessionsText } = await import('../output/overview.js');
  context.show(expected(reply), ({ sessions }) => sessionsText(sessions, context));
}
