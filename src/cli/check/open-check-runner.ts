import type { EffectiveCheck } from '../../core/contract/checks.js';
import type { RunCheck } from '../../engine/checks/check-runner.js';
import type { CommandExecutor } from '../../engine/checks/command-executor.js';
import { checkRunner, runnableCheck } from '../../engine/checks/run-check.js';
import type { CommandContext } from '../context.js';
import { chooseExecutor } from './choose-executor.js';
import { confirmCommands } from './confirmed-commands.js';
import { withGapsInProcess } from './gaps-in-process.js';

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
  return withGapsInProcess(await chooseExecutor(context, isUnsandboxed), context);
}

export const openCheckRunner = async (
  context: CommandContext,
  root: string,
  checks: readonly EffectiveCheck[],
  options: CheckRunnerOptions,
): Promise<RunCheck> => checkRunner(await openExecutor(context, root, checks, options));
