import type { EffectiveCheck } from '../../core/contract/tasks.js';
import type { RunCheck } from '../../engine/checks/check-runner.js';
import {
  type CommandExecutor,
  sandboxExecutor,
  unsandboxedExecutor,
} from '../../engine/checks/command-executor.js';
import { checkRunner, runnableCheck } from '../../engine/checks/run-check.js';
import { findSandbox } from '../../engine/checks/sandbox.js';
import type { CommandContext } from '../context.js';
import { failureWithCode } from '../exit.js';
import { confirmCommands } from './confirmed-commands.js';

export interface CheckRunnerOptions {
  readonly isConfirmed: boolean;
  readonly isUnsandboxed: boolean;
  /** The command line that confirms, for a refusal. */
  readonly howToConfirm: string;
}

/** What runs the commands of a repository's checks: after a person has confirmed them, and in a sandbox. */
export async function openExecutor(
  context: CommandContext,
  root: string,
  checks: readonly EffectiveCheck[],
  { isConfirmed, isUnsandboxed, howToConfirm }: CheckRunnerOptions,
): Promise<CommandExecutor> {
  const commands = checks.flatMap((check) => {
    const runnable = check.type === 'deterministic' ? runnableCheck(check) : null;
    return runnable === null || 'says' in runnable
      ? []
      : [{ check, command_sha256: runnable.command_sha256 }];
  });
  await confirmCommands(context, root, commands, { isConfirmed, howToConfirm });
  return chooseExecutor(context, isUnsandboxed);
}

export const openCheckRunner = async (
  context: CommandContext,
  root: string,
  checks: readonly EffectiveCheck[],
  options: CheckRunnerOptions,
): Promise<RunCheck> => checkRunner(await openExecutor(context, root, checks, options));

async function chooseExecutor(context: CommandContext, isUnsandboxed: boolean): Promise<CommandExecutor> {
  const { PATH } = context.io.env;
  if (isUnsandboxed) {
    context.warn('Without a sandbox: the commands can read and write what you can, and use the network.');
    return unsandboxedExecutor(PATH);
  }
  const sandbox = await findSandbox(PATH);
  if (sandbox.kind !== 'none') return sandboxExecutor(sandbox);
  throw failureWithCode(
    'NO_SANDBOX',
    `There is no sandbox for the commands of this repository. ${sandbox.says} Install bubblewrap 0.8 or later, or pass --unsandboxed if you trust them. Nothing was run.`,
  );
}
