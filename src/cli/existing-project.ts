import type { Genesis } from '../client/index.js';
import { Workspace } from '../workspace/workspace.js';
import type { CommandContext } from './context.js';
import { type CommandFailure, failureWithCode } from './exit.js';
import { knownProjectsText } from './known-projects.js';
import { unwrapReply } from './replies.js';

/** The server answers for any project name. A project without events is most likely a typo. */
export async function unknownProject(genesis: Genesis): Promise<CommandFailure> {
  const { project, tenant } = genesis;
  const known = await knownProjectsText(genesis);
  return failureWithCode(
    'NOT_FOUND',
    `Project ${project} of tenant ${tenant} does not exist: it has no events. Check the name, or import a plan: gen plan import FILE. ${known}`.trimEnd(),
  );
}

/** Fails if the server does not respond, or the project has no events. The project of a workspace exists by its files. */
export async function assertProjectExists(context: CommandContext, genesis: Genesis): Promise<void> {
  const { events } = unwrapReply(await genesis.events({ limit: 1 }));
  const isWorkspaceProject = context.explicitUrl === null && Workspace.find(context.io.cwd) !== null;
  if (events.length === 0 && !isWorkspaceProject) throw await unknownProject(genesis);
}
