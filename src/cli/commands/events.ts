import type { Genesis } from '../../client/index.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { parseWholeNumber } from '../option-parsers.js';
import { eventLine } from '../output/event.js';
import { unwrapReply } from '../replies.js';
import { stopSignal } from '../stop.js';

interface EventsOptions {
  readonly follow?: true;
  readonly after?: string;
  readonly limit?: number;
  readonly type?: string;
  readonly task?: string;
  readonly by?: string;
  readonly inSession?: string;
  readonly since?: string;
  readonly until?: string;
}

export const addEvents: AddCommands = (program, wrapAction) => {
  program
    .command('events')
    .description('what happened, in order')
    .option('--follow', 'stay, and show what happens as it happens')
    .option('--after <cursor>', 'go on after this cursor, which an earlier answer gave')
    .option('--limit <n>', 'at most so many (default: 100)', parseWholeNumber)
    .option('--type <type>', 'only events of this type')
    .option('--task <id>', 'only of this piece of work')
    .option('--by <agent>', 'only what this agent did')
    .option('--in-session <id>', 'only of this session')
    .option('--since <time>', 'only from this time on (ISO-8601)')
    .option('--until <time>', 'only before this time (ISO-8601)')
    .addHelpText(
      'after',
      '\nWith --follow and --json: one event a line.\n\nExamples:\n  gen events --task A-001-schema\n  gen events --follow --type RESULT_REJECTED',
    )
    .action(wrapAction(events));
};

async function events(context: CommandContext, options: EventsOptions): Promise<void> {
  const genesis = await context.genesis();
  const { follow, after, limit, type, task, by, inSession, since, until } = options;
  const filterOptions = {
    after,
    limit,
    type,
    task_id: task,
    agent_id: by,
    session_id: inSession,
    since,
    until,
  };
  const filter = Object.fromEntries(Object.entries(filterOptions).filter(([, value]) => value !== undefined));
  if (follow === true) {
    // Following without a starting point starts at the current end of the log.
    const startingPoint = after === undefined && since === undefined ? { after: 'now' } : {};
    return followEvents(context, genesis, { ...filter, ...startingPoint });
  }
  context.show(unwrapReply(await genesis.events(filter)), ({ events }) => {
    return events.length === 0
      ? 'Nothing happened.'
      : events.map((event) => eventLine(event, context)).join('\n');
  });
}

async function followEvents(
  context: CommandContext,
  genesis: Genesis,
  { limit: _, ...filter }: Record<string, string | number | undefined>,
): Promise<void> {
  const stop = stopSignal(context.io);
  try {
    for await (const { event } of genesis.follow(filter, { signal: stop.signal })) {
      context.show(event, () => eventLine(event, context));
    }
  } finally {
    stop.end();
  }
}
