import type { Command } from 'commander';
import type { Genesis, OperateAsked } from '../../client/index.js';
import type { OperatorVerb } from '../../coordinator/wire.js';
import type { Act } from '../act.js';
import type { Context } from '../context.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { paintState } from '../output/paint.js';
import { seconds, wholeNumber } from '../read-options.js';
import { decided, expected } from '../replies.js';

interface OperateOptions {
  readonly reason: string;
  readonly generation?: number;
}

/** A human's rulings over a piece of work. */
export function addOperatorCommands(task: Command, act: Act): void {
  const plain: readonly [name: string, verb: OperatorVerb, does: string][] = [
    ['reset', 'reset', 'open completed work again'],
    ['hold', 'hold', 'keep everybody from taking it'],
    ['unhold', 'unhold', 'let it be taken again'],
    ['force-release', 'force_release', 'take it from whoever has it'],
  ];
  for (const [name, verb, does] of plain) {
    withReason(task.command(`${name} <id>`).description(does)).action(
      act((context, task_id: string, options: OperateOptions) => operate(context, task_id, verb, options)),
    );
  }
  withReason(task.command('adopt <id>').description('make refused work, which was kept, the result'))
    .option('--result <id>', 'which of the results that are kept; may be left out where there is one')
    .action(act(adopt));
  withReason(task.command('reassign <id>').description('give it to somebody else'))
    .requiredOption('--to <agent>', 'who is to have it')
    .requiredOption('--to-session <session>', 'in which session of theirs')
    .option('--lease <seconds>', 'how long they may be silent', seconds)
    .action(act(reassign));
}

const withReason = (command: Command): Command =>
  command
    .requiredOption('--reason <text>', 'why, for the record')
    .option(
      '--generation <n>',
      'only if it is still at this generation (default: as it is now)',
      wholeNumber,
    );

async function operate(
  context: Context,
  task_id: string,
  verb: OperatorVerb,
  { reason, generation }: OperateOptions,
  more: Partial<OperateAsked> = {},
): Promise<void> {
  const genesis = await context.genesis();
  const expected_generation = generation ?? expected(await genesis.task(task_id)).generation;
  const reply = await genesis.operate(task_id, verb, { expected_generation, reason, ...more });
  decided(
    context,
    expected(reply),
    (state) =>
      `${task_id} is ${paintState(context.paint, state.readiness)} at generation ${state.generation}` +
      `${state.claim?.state === 'ACTIVE' ? `, held by ${state.claim.agent_id}` : ''}`,
  );
}

async function adopt(
  context: Context,
  task_id: string,
  options: OperateOptions & { result?: string },
): Promise<void> {
  const result_id = options.result ?? (await onlyParked(await context.genesis(), task_id));
  await operate(context, task_id, 'adopt', options, { result_id });
}

async function onlyParked(genesis: Genesis, task_id: string): Promise<string> {
  const { results } = expected(await genesis.results(task_id));
  const kept = results.filter(({ parked }) => parked);
  if (kept.length === 0)
    throw new CommandFailure(`No refused result of ${task_id} is kept: there is nothing to adopt.`);
  if (kept.length > 1) {
    const listed = kept.map(
      ({ id, generation, agent_id }) => `  ${id}  generation ${generation}, ${agent_id}`,
    );
    throw wrongUsage(['Which of them? Name one with --result:', ...listed].join('\n'));
  }
  return kept[0]?.id ?? '';
}

async function reassign(
  context: Context,
  task_id: string,
  options: OperateOptions & { to: string; toSession: string; lease?: number },
): Promise<void> {
  await operate(context, task_id, 'reassign', options, {
    agent_id: options.to,
    session_id: options.toSession,
    ...(options.lease === undefined ? {} : { lease_duration_seconds: options.lease }),
  });
}
