import type { ExecuteCheck } from '../../engine/checks/check-execution.js';
import type { CommandExecutor } from '../../engine/checks/command-executor.js';
import { checkExecutor } from '../../engine/checks/execute-check.js';
import type { CommandContext } from '../context.js';
import { chooseExecutor } from './choose-executor.js';
import { confirmCommands, type ProjectCommand } from './confirmed-commands.js';
import { withGapsInProcess } from './gaps-in-process.js';

export interface CheckExecutionOptions {
  readonly isConfirmed: boolean;
  readonly isUnsandboxed: boolean;
  /** The command line that confirms the commands. A refusal names it. */
  readonly howToConfirm: string;
}

/**
 * Opens the executor of a repository's commands: in a sandbox, unless `isUnsandboxed`. Fails unless a person
 * has confirmed `commands`, or confirms them now.
 */
export async function openExecutor(
  context: CommandContext,
  root: string,
  commands: readonly ProjectCommand[],
  { isConfirmed, isUnsandboxed, howToConfirm }: CheckExecutionOptions,
): Promise<CommandExecutor> {
  await confirmCommands(context, root, commands, { isConfirmed, howToConfirm });
  return withGapsInProcess(await chooseExecutor(context, isUnsandboxed), context);
}

export const openCheckExecution = async (
  context: CommandContext,
  root: string,
  commands: readonly ProjectCommand[],
  options: CheckExecutionOptions,
): Promise<ExecuteCheck> => checkExecutor(await openExecutor(context, root, commands, options));
