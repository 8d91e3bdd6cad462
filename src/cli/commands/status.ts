import { Workspace } from '../../workspace/workspace.js';
import { command, commands } from '../command.js';
import type { CommandContext } from '../context.js';
import { wrongUsage } from '../exit.js';
import { methodologyStatus, STATUS_OPTIONS } from '../methodology/status.js';
import { agentsText, sessionsText, statusText } from '../output/overview.js';
import { unwrapReply } from '../replies.js';
import { show, watch } from '../watch.js';

const status = command('status', {
  description: 'show the progress, the current claims, and what needs a human',
  options: STATUS_OPTIONS,
  help: `
Examples:
  gen status                                 in a workspace: its features; elsewhere: the server's plan
  gen status --feature REQ-F-AUTH-001
  gen status --health
  gen status --gantt --write
  gen status --log ../other/.ai-workspace/events/events.jsonl`,
  async run(context, options) {
    const { watch: isWatching = false, feature, health, gantt, write, log } = options;
    if (write && !gantt) throw wrongUsage('--write requires --gantt. Pass --gantt --write.');
    const isByFeature = feature !== undefined || health || gantt || log !== undefined;
    if (!isByFeature && Workspace.find(context.io.cwd) === null) return planStatus(context, isWatching);
    return methodologyStatus(context, options);
  },
});

async function planStatus(context: CommandContext, isWatching: boolean): Promise<void> {
  const genesis = await context.genesis();
  const render = async () => {
    const current = unwrapReply(await genesis.status());
    return { json: current, text: statusText(current, context) };
  };
  if (isWatching) {
    return watch(context, render, async (onChange, signal) => {
      for await (const _ of genesis.follow({ after: 'now' }, { signal })) onChange();
    });
  }
  show(context, await render());
}

const agents = command('agents', {
  description: 'list the agents and their claims',
  async run(context) {
    const reply = unwrapReply(await (await context.genesis()).agents());
    context.show(reply, ({ agents }) => agentsText(agents, context));
  },
});

const sessions = command('sessions', {
  description: 'list the sessions of this tenant',
  async run(context) {
    const reply = await (await context.genesisForTenant()).sessions();
    context.show(unwrapReply(reply), ({ sessions }) => sessionsText(sessions, context));
  },
});

export const addStatus = commands(status, agents, sessions);
