import type { Coordinator } from '../coordinator/coordinator.js';
import { SINGLE_AGENT } from '../coordinator/operations/edge-facts.js';
import type { Problem } from '../coordinator/wire/problem.js';
import type { ConfigureResult } from '../core/contract/configuration.js';
import { isCoordinationFile, isSingleAgentMode } from '../core/methodology/definition/read-mode.js';
import type { ProjectKey } from '../stores/store.js';
import { configureBodyOf, readWorkspaceFiles } from './read-files.js';
import type { Workspace } from './workspace.js';

/** Whether a single agent owns the log, so that there is no inbox and no serialiser. */
export async function isSingleAgent(workspace: Workspace): Promise<boolean> {
  return isSingleAgentMode(await readWorkspaceFiles(workspace, isCoordinationFile));
}

/** The agent of a single-agent workspace; null otherwise. */
export const soleAgent = async (workspace: Workspace): Promise<string | null> =>
  (await isSingleAgent(workspace)) ? SINGLE_AGENT.agent_id : null;

export async function loadWorkspace(
  workspace: Workspace,
  coordinator: Coordinator,
  projectKey: ProjectKey,
): Promise<ConfigureResult | Problem> {
  return coordinator.settings.configure(projectKey, configureBodyOf(await readWorkspaceFiles(workspace)));
}
