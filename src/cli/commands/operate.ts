import type { Command } from 'commander';
import type { Genesis, OperateTaskRequest } from '../../client/index.js';
import type { OperatorVerb } from '../../coordinator/wire/index.js';
import type { ActionWrapper } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { parseSeconds, parseWholeNumber } from '../option-parsers.js';
import { paintState } from '../output/paint.js';
import { showDecision, unwrapReply } from '../replies.js';

interface OperateOptions {
  readonly reason: string;
  readonly generation?: number;
}

/** The commands by which an operator overrides the state of a task. */
export function addOperatorCommands(task: Command, wrapAction: ActionWrapper): void {
  const simpleCommands: readonly [name: string, verb: OperatorVerb, does: string][] = [
    ['reset', 'reset', 'open completed work again'],
    ['hold', 'hold', 'keep everybody from taking it'],
    ['unhold', 'unhold', 'let it be taken again'],
    ['force-release', 'force_release', 'take it from whoever has it'],
  ];
  for (const [name, verb, description] of simpleCommands) {
    addReasonOptions(task.command(`${name} <id>`).description(description)).action(
      wrapAction((context, taskId: string, options: OperateOptions) =>
        operate(context, taskId, verb, options),
      ),
    );
  }
  addReasonOptions(task.command('adopt <id>').description('make refused work, which was kept, the result'))
    .option('--result <id>', 'which of the results that are kept; may be left out where there is one')
    .action(wrapAction(adopt));
  addReasonOptions(task.command('reassign <id>').description('give it to somebody else'))
    .requiredOption('--to <agent>', 'who is to have it')
    .requiredOption('--to-session <session>', 'in which session of theirs')
    .option('--lease <seconds>', 'how long they may be silent', parseSeconds)
    .action(wrapAction(reassign));
}

const addReasonOptions = (command: Command): Command =>
  command
    .requiredOption('--reason <text>', 'why, for the record')
    .option(
      '--generation <n>',
      'only if it is still at this generation (default: as it is now)',
      parseWholeNumber,
    );

async function operate(
  context: CommandContext,
  taskId: string,
  verb: OperatorVerb,
  { reason, generation }: OperateOptions,
  extraFields: Partial<OperateTaskRequest> = {},
): Promise<void> {
  const genesis = await context.genesis();
  const expected_generation = generation ?? unwrapReply(await genesis.task(taskId)).generation;
  const reply = await genesis.operate(taskId, verb, { expected_generation, reason, ...extraFields });
  showDecision(
    context,
    unwrapReply(reply),
    (state) =>
      `${taskId} is ${paintState(context.paint, state.readiness)} at generation ${state.generation}` +
      `${state.claim?.state === 'ACTIVE' ? `, held by ${state.claim.agent_id}` : ''}`,
  );
}

async function adopt(
  context: CommandContext,
  taskId: string,
  options: OperateOptions & { result?: string },
): Promise<void> {
  const result_id = options.result ?? (await soleParkedResult(await context.genesis(), taskId));
  await operate(context, taskId, 'adopt', options, { result_id });
}

async function soleParkedResult(genesis: Genesis, taskId: string): Promise<string> {
  const { results } = unwrapReply(await genesis.results(taskId));
  const parkedResults = results.filter(({ parked }) => parked);
  if (parkedResults.length === 0)
    throw new CommandFailure(`No refused result of ${taskId} is kept: there is nothing to adopt.`);
  if (parkedResults.length > 1) {
    const choices = parkedResults.map(
      ({ id, generation, agent_id }) => `  ${id}  generation ${generation}, ${agent_id}`,
    );
    throw wrongUsage(['Which of them? Name one with --result:', ...choices].join('\n'));
  }
  return parkedResults[0]?.id ?? '';
}

async function reassign(
  context: CommandContext,
  taskId: string,
  options: OperateOptions & { to: string; toSession: string; lease?: number },
): Promise<void> {
  await operate(context, taskId, 'reassign', options, {
    agent_id: options.to,
    session_id: options.toSession,
    ...(options.lease === undefined ? {} : { lease_duration_seconds: options.lease }),
  });
}
