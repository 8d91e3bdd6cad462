import { Workspace } from '../workspace/workspace.js';
import type { CommandContext } from './context.js';
import { wrapNotice } from './output/wrap.js';

/** Explains an unknown project in a workspace: the given server may not be this workspace's server. */
export function printOtherServerNotice(context: CommandContext): void {
  const { explicitUrl, explicitProject, io } = context;
  if (explicitUrl === null || explicitProject !== null || Workspace.find(io.cwd) === null) return;
  const sentence =
    `The server at ${explicitUrl} has no project of this workspace's name. ` +
    "Without --url and GENESIS_URL, commands here use the workspace's own log. To send that log to this server: gen sync push.";
  context.printNotice(wrapNotice(sentence, io));
}
