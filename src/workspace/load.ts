import type { Coordinator } from '../coordinator/coordinator.js';
import type { Problem } from '../coordinator/wire/problem.js';
import type { ConfigureResult } from '../core/contract/configuration.js';
import type { ProjectKey } from '../stores/store.js';
import { configureBodyOf, readWorkspaceFiles } from './read-files.js';
import type { Workspace } from './workspace.js';

export async function loadWorkspace(
  workspace: Workspace,
  coordinator: Coordinator,
  projectKey: ProjectKey,
): Promise<ConfigureResult | Problem> {
  return coordinator.settings.configure(projectKey, configureBodyOf(await readWorkspaceFiles(workspace)));
}
