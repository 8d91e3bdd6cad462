import type { ExecuteCheck } from '../../engine/checks/check-execution.js';
import type { CommandExecutor } from '../../engine/checks/command-executor.js';
import { checkExecutor } from '../../engine/checks/execute-check.js';
import type { CommandContext } from '../context.js';
import { chooseExecutor } from './choose-executor.js';
import { confirmCommands, type ProjectCommand } from './confirmed-commands.js';
import { withGapsInProcess } from './gaps-in-process.js';

export interface CheckRunnerOptions {
  readonly isConfirmed: boolean;
  readonly isUnsandboxed: boolean;
  /** The command line that confirms, for a refusal. */
  readonly howToConfirm: string;
}

/** What runs the commands of a repository's checks, in a sandbox. A person must have confirmed `commands`. */
export async function openExecutor(
  context: CommandContext,
  root: string,
  commands: readonly ProjectCommand[],
  { isConfirmed, isUnsandboxed, howToConfirm }: CheckRunnerOptions,
): Promise<CommandExecutor> {
  await confirmCommands(context, root, commands, { isConfirmed, howToConfirm });
  return withGapsInProcess(await chooseExecutor(context, isUnsandboxed), context);
}

export const openCheckRunner = async (
  context: CommandContext,
  root: string,
  commands: readonly ProjectCommand[],
  options: CheckRunnerOptions,
): Promise<ExecuteCheck> => checkExecutor(await openExecutor(context, root, commands, options));
