import { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { noWorkspace } from '../exit.js';

/** The workspace of the folder that a command was called in. */
export function requireWorkspaceHere({ io }: CommandContext): Workspace {
  const workspace = Workspace.find(io.cwd);
  if (workspace !== null) return workspace;
  throw noWorkspace('There is no workspace here or above. Make one: gen init.');
}
