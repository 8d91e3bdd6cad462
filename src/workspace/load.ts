import type { Coordinator } from '../coordinator/coordinator.js';
import { SINGLE_AGENT } from '../coordinator/edge-facts.js';
import type { Problem } from '../coordinator/problem.js';
import type { ConfigureResult } from '../coordinator/wire.js';
import { parseMethodology } from '../core/graph/read-methodology.js';
import type { ProjectKey } from '../stores/store.js';
import { readWorkspaceFiles } from './read-files.js';
import type { Workspace } from './workspace.js';

/** No inbox and no serialiser: the one agent there is has the log to itself. */
export async function isSingleAgent(workspace: Workspace): Promise<boolean> {
  const reading = parseMethodology(await readWorkspaceFiles(workspace));
  return reading.ok && reading.methodology.mode === 'single';
}

/** The one agent that works here, where there is only one. */
export const soleAgent = async (workspace: Workspace): Promise<string | null> =>
  (await isSingleAgent(workspace)) ? SINGLE_AGENT.agent_id : null;

/** Takes what the files of a workspace say into the records of its project. */
export async function loadWorkspace(
  workspace: Workspace,
  coordinator: Coordinator,
  key: ProjectKey,
): Promise<ConfigureResult | Problem> {
  const files = Object.fromEntries(await readWorkspaceFiles(workspace));
  return coordinator.settings.configure(key, { files });
}
