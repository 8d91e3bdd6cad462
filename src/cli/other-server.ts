import { Workspace } from '../workspace/workspace.js';
import type { CommandContext } from './context.js';
import { wrapNotice } from './output/wrap.js';

/** In a workspace, an unknown project may mean that the given server is not this workspace's server. */
export function printOtherServerNotice(context: CommandContext): void {
  const { explicitUrl, explicitProject, io } = context;
  if (explicitUrl === null || explicitProject !== null || Workspace.find(io.cwd) === null) return;
  const sentence =
    `The server at ${explicitUrl} has no project of this workspace's name. ` +
    "Without --url and GENESIS_URL, commands here use the workspace's own log. To share it there: gen sync push.";
  context.printNotice(wrapNotice(sentence, io));
}
