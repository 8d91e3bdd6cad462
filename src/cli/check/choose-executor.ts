import {
  type CommandExecutor,
  sandboxExecutor,
  unsandboxedExecutor,
} from '../../engine/checks/command-executor.js';
import { findSandbox } from '../../engine/checks/sandbox.js';
import type { CommandContext } from '../context.js';
import { failureWithCode } from '../exit.js';

/** Chooses the sandbox, unless the user requests a run without it. */
export async function chooseExecutor(
  context: CommandContext,
  isUnsandboxed: boolean,
): Promise<CommandExecutor> {
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
