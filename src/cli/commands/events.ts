import type { FollowObserver } from '../../client/index.js';
import type { AgentEventFilter } from '../../core/contract/events.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { wrongUsage } from '../exit.js';
import { parseWholeNumber } from '../option-parsers.js';
import { eventLine } from '../output/event.js';
import { unwrapReply } from '../replies.js';
import { abortOnStop } from '../stop.js';

export const eventsCommand = defineCommand('events', {
  description: 'list the events in order',
  options: {
    '--follow': 'keep running, and print new events',
    '--after <cursor>': 'start after this cursor of an earlier reply',
    '--limit <n>': { about: 'maximum number of events (default: 100)', parse: parseWholeNumber },
    '--type <type>': 'only events of this type',
    '--task <id>': 'only events of this task',
    '--feature <id>': 'only events of this feature',
    '--edge <edge>': 'only events of this edge',
    '--by <agent>': 'only events of this agent',
    '--all-projects': 'with --by: the events of the agent in all projects of this tenant',
    '--in-session <id>': 'only events of this session',
    '--since <time>': 'only events from this time on (ISO-8601)',
    '--until <time>': 'only events before this time (ISO-8601)',
  },
  help: '\nWith --follow and --json, prints one event per line.\n\nExamples:\n  gen events --task A-001-schema\n  gen events --feature REQ-F-AUTH-001 --edge design_code\n  gen events --by agent-beta --all-projects\n  gen events --follow --type RESULT_REJECTED',
  async run(context, options) {
    if (options.allProjects) return showAgentEvents(context, options);
    const { follow, limit, type, task, feature, edge, by, inSession, since, until } = options;
    const genesis = await context.genesis();
    // Following without a starting point starts at the current end of the log.
    const after = options.after ?? (follow && since === undefined ? 'now' : undefined);
    const keys = { task_id: task, feature_id: feature, edge, agent_id: by, session_id: inSession };
    const filter = withoutUndefined({ after, type, ...keys, since, until });
    if (!follow) {
      const reply = unwrapReply(await genesis.events(withoutUndefined({ ...filter, limit })));
      return context.printReply(reply, ({ events }) =>
        events.length === 0 ? 'No events.' : events.map((event) => eventLine(event, context)),
      );
    }
    // The stream below retries for ever; this single request first reports a missing server or project.
    unwrapReply(await genesis.events({ limit: 1 }));
    const stop = abortOnStop(context.io);
    try {
      const followOptions = { signal: stop.signal, ...connectionNotices(context) };
      for await (const { event } of genesis.follow(filter, followOptions)) {
        context.printReply(event, () => eventLine(event, context));
      }
    } finally {
      stop.end();
    }
  },
});

type AgentEventOptions = Pick<Partial<AgentEventFilter>, 'after' | 'limit' | 'type' | 'since' | 'until'> & {
  readonly by?: string;
  readonly follow?: boolean;
  readonly task?: string;
  readonly feature?: string;
  readonly edge?: string;
  readonly inSession?: string;
};

/** Shows the events of an agent in all projects. A position is unique within a project only, so each line names its project. */
async function showAgentEvents(context: CommandContext, options: AgentEventOptions): Promise<void> {
  const { by, follow, task, feature, edge, inSession, after, limit, type, since, until } = options;
  if (by === undefined) throw wrongUsage('--all-projects lists the events of one agent. Pass --by AGENT.');
  if (follow || [task, feature, edge, inSession].some((each) => each !== undefined))
    throw wrongUsage(
      '--all-projects can be combined with --by, --type, --since, --until, --after and --limit only.',
    );
  const genesis = await context.genesisForTenant();
  const filter = { agent_id: by, ...withoutUndefined({ after, limit, type, since, until }) };
  const reply = unwrapReply(await genesis.agentEvents(filter));
  context.printReply(reply, ({ events, next }) => [
    ...(events.length === 0 ? ['No events.'] : []),
    ...events.map((event) => `${event.project_id}  ${eventLine(event, context)}`),
    ...(next === null ? [] : [`More: gen events --by ${by} --all-projects --after ${next}`]),
  ]);
}

/** One notice when the connection is lost, and one when it is back, however many attempts that takes. */
function connectionNotices(context: CommandContext): FollowObserver {
  let isRetrying = false;
  return {
    on_connect: () => {
      if (isRetrying) context.warn('Connected again.');
      isRetrying = false;
    },
    on_retry: ({ detail }) => {
      if (!isRetrying)
        context.warn(`Connection lost: ${detail} Retrying until it is back; stop with Ctrl+C.`);
      isRetrying = true;
    },
  };
}
