import { withoutUndefined } from '../../core/without-undefined.js';
import { Workspace } from '../../workspace/workspace.js';
import { combineCommands, defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { wrongUsage } from '../exit.js';
import { methodologyStatus, STATUS_OPTIONS } from '../methodology/status.js';
import { AT_OPTION } from '../option-parsers.js';
import { agentsText, sessionsText, statusText } from '../output/overview.js';
import { unwrapReply } from '../replies.js';
import { showView, watch } from '../watch.js';

const status = defineCommand('status', {
  description: 'show the progress, the current claims, and what needs a person',
  options: STATUS_OPTIONS,
  help: `
Examples:
  gen status                                 in a workspace: its features; elsewhere: the server's plan
  gen status --feature REQ-F-AUTH-001
  gen status --health
  gen status --at 120                        as it was at position 120 of the log
  gen status --gantt --write
  gen status --log ../other/.ai-workspace/events/events.jsonl`,
  async run(context, options) {
    const { watch: isWatching = false, feature, health, gantt, write, log, at } = options;
    if (write && !gantt) throw wrongUsage('--write requires --gantt. Pass --gantt --write.');
    if (at !== undefined && (isWatching || log !== undefined))
      throw wrongUsage('--at shows the past of a project: omit --watch and --log.');
    const isByFeature = feature !== undefined || health || gantt || log !== undefined;
    if (!isByFeature && Workspace.find(context.io.cwd) === null) return planStatus(context, isWatching, at);
    return methodologyStatus(context, options);
  },
});

async function planStatus(
  context: CommandContext,
  isWatching: boolean,
  at: number | undefined,
): Promise<void> {
  const genesis = await context.genesis();
  const render = async () => {
    const current = unwrapReply(await genesis.status(withoutUndefined({ at })));
    return { json: current, text: statusText(current, context) };
  };
  if (isWatching) {
    return watch(context, render, async (onChange, signal) => {
      for await (const _ of genesis.follow({ after: 'now' }, { signal })) onChange();
    });
  }
  showView(context, await render());
}

const agents = defineCommand('agents', {
  description: 'list the agents and their claims',
  options: AT_OPTION,
  async run(context, { at }) {
    const reply = unwrapReply(await (await context.genesis()).agents(withoutUndefined({ at })));
    context.printReply(reply, ({ agents }) => agentsText(agents, context));
  },
});

const sessions = defineCommand('sessions', {
  description: 'list the sessions of this tenant',
  async run(context) {
    const reply = await (await context.genesisForTenant()).sessions();
    context.printReply(unwrapReply(reply), ({ sessions }) => sessionsText(sessions, context));
  },
});

export const statusCommands = combineCommands(status, agents, sessions);
