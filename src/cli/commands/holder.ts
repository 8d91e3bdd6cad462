import type { Command } from 'commander';
import type { Act } from '../act.js';
import type { Context } from '../context.js';
import { fenced, type HandleOptions, handleFor, withHandle } from '../handle.js';
import { clockTime, distance } from '../output/text.js';
import { seconds } from '../read-options.js';
import { decided, expected } from '../replies.js';

/** What the holder of a claim does with it. The handle is the one that was remembered when it was granted. */
export function addHolderCommands(task: Command, act: Act): void {
  withHandle(task.command('renew <id>').description('say that you are still at it'))
    .option('--lease <seconds>', 'how long you may be silent from now on', seconds)
    .action(act(renew));
  withHandle(task.command('release <id>').description('give it back'))
    .option('--error <message>', 'give it back because it failed, and say why')
    .action(act(release));
  withHandle(task.command('note <id> <text>').description('leave a word for whoever has it next')).action(
    act(note),
  );
}

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

async function note(context: Context, task_id: string, text: string, options: HandleOptions): Promise<void> {
  const handle = await handleFor(context, task_id, options);
  const genesis = await context.genesis();
  const reply = await genesis.note({ ...fenced(handle), generation: handle.generation, text });
  decided(context, expected(reply), () => `noted on ${task_id}`);
}
