import {
  type CommandExecutor,
  sandboxExecutor,
  unsandboxedExecutor,
} from '../../engine/checks/command-executor.js';
import { findSandbox } from '../../engine/checks/sandbox.js';
import type { CommandContext } from '../context.js';
import { failureWithCode } from '../exit.js';

/** The sandbox as executor, or, if the user requests it, an executor without a sandbox. */
export async function chooseExecutor(
  context: CommandContext,
  isUnsandboxed: boolean,
): Promise<CommandExecutor> {
  const { PATH } = context.io.env;
  if (isUnsandboxed) {
    context.warn(
      'The commands run without a sandbox: they have your access to files, and can use the network.',
    );
    return unsandboxedExecutor(PATH);
  }
  const sandbox = await findSandbox(PATH);
  if (sandbox.kind !== 'none') return sandboxExecutor(sandbox);
  throw failureWithCode(
    'NO_SANDBOX',
    `There is no sandbox for the commands of this repository. ${sandbox.says} Install bubblewrap 0.8 or later, or pass --unsandboxed if you trust them. Nothing was run.`,
  );
}
