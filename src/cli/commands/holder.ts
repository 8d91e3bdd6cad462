import type { Command } from 'commander';
import type { ActionWrapper } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { addHandleOptions, fencingFields, type HandleOptions, resolveHandle } from '../handle.js';
import { parseSeconds } from '../option-parsers.js';
import { clockTime, relativeTime } from '../output/text.js';
import { showDecision, unwrapReply } from '../replies.js';

/** The commands for the holder of a claim. They use the handle that was stored when the claim was granted. */
export function addHolderCommands(task: Command, wrapAction: ActionWrapper): void {
  addHandleOptions(task.command('renew <id>').description('say that you are still at it'))
    .option('--lease <seconds>', 'how long you may be silent from now on', parseSeconds)
    .action(wrapAction(renew));
  addHandleOptions(task.command('release <id>').description('give it back'))
    .option('--error <message>', 'give it back because it failed, and say why')
    .action(wrapAction(release));
  addHandleOptions(
    task.command('note <id> <text>').description('leave a word for whoever has it next'),
  ).action(wrapAction(note));
}

async function renew(
  context: CommandContext,
  taskId: string,
  options: HandleOptions & { lease?: number },
): Promise<void> {
  const handle = await resolveHandle(context, taskId, options);
  const lease = options.lease ?? handle.lease_duration_seconds;
  const genesis = await context.genesis();
  const reply = await genesis.renewLease({
    ...fencingFields(handle),
    expected_generation: handle.generation,
    ...(lease === null ? {} : { lease_duration_seconds: lease }),
  });
  showDecision(context, unwrapReply(reply), ({ new_expiry }) =>
    new_expiry === null
      ? `${taskId} is yours`
      : `${taskId} is yours until ${clockTime(new_expiry)} UTC (${relativeTime(new_expiry, Date.now())})`,
  );
}

async function release(
  context: CommandContext,
  taskId: string,
  options: HandleOptions & { error?: string },
): Promise<void> {
  const handle = await resolveHandle(context, taskId, options);
  const failure = options.error === undefined ? {} : { reason: 'ERROR' as const, message: options.error };
  const genesis = await context.genesis();
  const request = { ...fencingFields(handle), expected_generation: handle.generation, ...failure };
  const reply = unwrapReply(await genesis.releaseClaim(request));
  if (reply.success) await context.state.removeHandle(await context.target(), handle);
  showDecision(context, reply, () => `${taskId} is given back`);
}

async function note(
  context: CommandContext,
  taskId: string,
  text: string,
  options: HandleOptions,
): Promise<void> {
  const handle = await resolveHandle(context, taskId, options);
  const genesis = await context.genesis();
  const reply = await genesis.note({ ...fencingFields(handle), generation: handle.generation, text });
  showDecision(context, unwrapReply(reply), () => `noted on ${taskId}`);
}
