import type { Genesis, OperateTaskRequest } from '../../client/index.js';
import type { OperatorVerb } from '../../core/contract/tasks.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { combineCommands, defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { LEASE_OPTION, parseWholeNumber } from '../option-parsers.js';
import type { OptionsOf } from '../option-table.js';
import { paintState } from '../output/paint.js';
import { showDecision, unwrapReply } from '../replies.js';

const REASON_OPTIONS = {
  '--reason <text>': { about: 'reason, recorded in the log', required: true },
  '--generation <n>': {
    about: 'expected generation; any other is refused (default: the current one)',
    parse: parseWholeNumber,
  },
} as const;

type SimpleUsage = `${'reset' | 'hold' | 'unhold' | 'force-release'} <id>`;

const simpleCommand = (usage: SimpleUsage, verb: OperatorVerb, description: string) =>
  defineCommand(usage, {
    description,
    options: REASON_OPTIONS,
    run: (context, taskId, options) => operate(context, taskId, verb, options),
  });

const adopt = defineCommand('adopt <id>', {
  description: 'accept a parked (refused and kept) result',
  options: {
    ...REASON_OPTIONS,
    '--result <id>': 'id of the parked result; optional if there is only one',
  },
  async run(context, taskId, options) {
    const result_id = options.result ?? (await soleParkedResult(await context.genesis(), taskId));
    await operate(context, taskId, 'adopt', options, { result_id });
  },
});

const reassign = defineCommand('reassign <id>', {
  description: 'move the claim to another agent',
  options: {
    ...REASON_OPTIONS,
    '--to <agent>': { about: 'agent that gets the claim', required: true },
    '--to-session <session>': { about: 'session of that agent', required: true },
    ...LEASE_OPTION,
  },
  run: (context, taskId, { to: agent_id, toSession: session_id, lease, ...options }) => {
    const lease_duration_seconds = lease;
    const holder = withoutUndefined({ agent_id, session_id, lease_duration_seconds });
    return operate(context, taskId, 'reassign', options, holder);
  },
});

/** The commands by which an operator overrides the state of a task. */
export const operatorCommands = combineCommands(
  simpleCommand('reset <id>', 'reset', 'reopen a completed task'),
  simpleCommand('hold <id>', 'hold', 'prevent claims of a task until gen task unhold'),
  simpleCommand('unhold <id>', 'unhold', 'allow claims of a task again'),
  simpleCommand('force-release <id>', 'force_release', 'end the claim of the current holder'),
  adopt,
  reassign,
);

async function operate(
  context: CommandContext,
  taskId: string,
  verb: OperatorVerb,
  { reason, generation }: OptionsOf<typeof REASON_OPTIONS>,
  extraFields: Partial<OperateTaskRequest> = {},
): Promise<void> {
  const genesis = await context.genesis();
  const expected_generation = generation ?? unwrapReply(await genesis.task(taskId)).generation;
  const reply = await genesis.operate(taskId, verb, { expected_generation, reason, ...extraFields });
  showDecision(context, unwrapReply(reply), (state) => {
    const holder = state.claim?.state === 'ACTIVE' ? `, held by ${state.claim.agent_id}` : '';
    return `${taskId} is ${paintState(context.paint, state.readiness)} at generation ${state.generation}${holder}`;
  });
}

async function soleParkedResult(genesis: Genesis, taskId: string): Promise<string> {
  const { results } = unwrapReply(await genesis.results(taskId));
  const parkedResults = results.filter(({ parked }) => parked);
  const [first, ...others] = parkedResults;
  if (first === undefined)
    throw new CommandFailure(`${taskId} has no parked result to adopt. See gen task history ${taskId}.`);
  if (others.length === 0) return first.id;
  const choices = parkedResults.map(
    ({ id, generation, agent_id }) => `  ${id}  generation ${generation}, ${agent_id}`,
  );
  throw wrongUsage(['There are several parked results. Pass one with --result:', ...choices].join('\n'));
}
