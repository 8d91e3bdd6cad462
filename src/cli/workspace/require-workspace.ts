import { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { noWorkspace } from '../exit.js';

/** The workspace that contains the current folder. */
export function requireWorkspaceHere({ io }: CommandContext): Workspace {
  const workspace = Workspace.find(io.cwd);
  if (workspace !== null) return workspace;
  throw noWorkspace('There is no workspace here or above. Make one: gen init.');
}
