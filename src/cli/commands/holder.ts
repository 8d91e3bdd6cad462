import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { Genesis } from '../../client/index.js';
import type { Act } from '../act.js';
import type { Context } from '../context.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { claimIdOption, fenced, generationOption, type HandleOptions, handleFor } from '../handle.js';
import { clockTime, distance } from '../output/text.js';
import { seconds } from '../read-options.js';
import { decided, expected } from '../replies.js';
import { type ResultBody, resultBody } from '../result.js';

/** What the holder of a claim does with it. The handle is the one that was remembered when it was granted. */
export function addHolderCommands(task: Command, act: Act): void {
  withHandle(task.command('renew <id>').description('say that you are still at it'))
    .option('--lease <seconds>', 'how long you may be silent from now on', seconds)
    .action(act(renew));
  withHandle(task.command('release <id>').description('give it back'))
    .option('--error <message>', 'give it back because it failed, and say why')
    .action(act(release));
  withHandle(task.command('submit <id>').description('hand in the result'))
    .option('--file <path>', 'the result: JSON, text, or anything else as a blob')
    .option('--data <json>', 'the result, right here')
    .addHelpText(
      'after',
      '\nWithout --file and --data the result is read from standard input.\n\nExamples:\n' +
        '  gen task submit A-001-schema --file result.json\n' +
        '  ./build.sh | gen task submit A-001-schema',
    )
    .action(act(submit));
  withHandle(task.command('note <id> <text>').description('leave a word for whoever has it next')).action(
    act(note),
  );
}

const withHandle = (command: Command): Command =>
  command.addOption(generationOption()).addOption(claimIdOption());

async function renew(
  context: Context,
  task_id: string,
  options: HandleOptions & { lease?: number },
): Promise<void> {
  const handle = await handleFor(context, task_id, options);
  const lease = options.lease ?? handle.lease_duration_seconds;
  const genesis = await context.genesis();
  const reply = await genesis.renewLease({
    ...fenced(handle),
    expected_generation: handle.generation,
    ...(lease === null ? {} : { lease_duration_seconds: lease }),
  });
  decided(context, expected(reply), ({ new_expiry }) =>
    new_expiry === null
      ? `${task_id} is yours`
      : `${task_id} is yours until ${clockTime(new_expiry)} UTC (${distance(new_expiry, Date.now())})`,
  );
}

async function release(
  context: Context,
  task_id: string,
  options: HandleOptions & { error?: string },
): Promise<void> {
  const handle = await handleFor(context, task_id, options);
  const failed = options.error === undefined ? {} : { reason: 'ERROR' as const, message: options.error };
  const genesis = await context.genesis();
  const asked = { ...fenced(handle), expected_generation: handle.generation, ...failed };
  const reply = expected(await genesis.releaseClaim(asked));
  if (reply.success) await context.memory.forgetHandle(await context.place(), handle);
  decided(context, reply, () => `${task_id} is given back`);
}

async function submit(
  context: Context,
  task_id: string,
  options: HandleOptions & { file?: string; data?: string },
): Promise<void> {
  const handle = await handleFor(context, task_id, options);
  const genesis = await context.genesis();
  const result = await resultGiven(context, genesis, options);
  const { generation } = handle;
  const reply = expected(await genesis.submitResult({ ...fenced(handle), generation, ...result }));
  if (reply.accepted) await context.memory.forgetHandle(await context.place(), handle);
  const parked = reply.parked === null ? '' : `The work is kept as ${reply.parked}.`;
  decided(
    context,
    reply,
    ({ work_product_ref, late }) => {
      return `${task_id} is done: ${work_product_ref}${late ? ' (late, and nobody had taken over)' : ''}`;
    },
    parked,
  );
}

async function resultGiven(
  context: Context,
  genesis: Genesis,
  { file, data }: { file?: string; data?: string },
): Promise<ResultBody> {
  if (file !== undefined && data !== undefined) throw wrongUsage('Give --file or --data, not both.');
  if (data !== undefined) {
    try {
      return { result_data: JSON.parse(data) as unknown };
    } catch {
      throw wrongUsage('--data is not JSON. Put it in quotes, or hand in a file with --file.');
    }
  }
  if (file !== undefined) return resultBody(genesis, await fileBytes(context, file));
  const { stdin } = context.io;
  if ('isTTY' in stdin && stdin.isTTY === true) {
    throw wrongUsage('What is the result? Give --file PATH or --data JSON, or pipe it in.');
  }
  const piped = await buffer(stdin);
  // A program that failed, or no pipe at all, looks like this: no work is done by it.
  if (piped.byteLength === 0) {
    throw wrongUsage(
      'Standard input is empty. Give the result with --file PATH or --data JSON, or pipe it in.',
    );
  }
  return resultBody(genesis, piped);
}

async function fileBytes({ io }: Context, file: string): Promise<Uint8Array> {
  try {
    return await readFile(resolve(io.cwd, file));
  } catch (error) {
    throw new CommandFailure(
      `${file} cannot be read (${(error as NodeJS.ErrnoException).code}). Nothing was submitted.`,
    );
  }
}

async function note(context: Context, task_id: string, text: string, options: HandleOptions): Promise<void> {
  const handle = await handleFor(context, task_id, options);
  const genesis = await context.genesis();
  const reply = await genesis.note({ ...fenced(handle), generation: handle.generation, text });
  decided(context, expected(reply), () => `noted on ${task_id}`);
}
