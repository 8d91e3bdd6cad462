import { type ApiProblem, isProblem as isApiProblem } from '../../client/replies.js';
import type { Coordinator } from '../../coordinator/coordinator.js';
import { isProblem, type Problem } from '../../coordinator/wire/problem.js';
import type { ConfigureResult } from '../../core/contract/methodology.js';
import { loadWorkspace } from '../../workspace/load.js';
import { readProjectKey } from '../../workspace/project-file.js';
import type { Workspace } from '../../workspace/workspace.js';

/** Which version of the files the log contains: the current one, an earlier valid one, or none. */
type ConfigurationState = 'now' | 'before' | 'never';

/** Loads the workspace's files into the log. Invalid files leave the log unchanged, and a notice names the fault. */
export async function configure(
  warn: (sentence: string) => void,
  workspace: Workspace,
  coordinator: Coordinator,
): Promise<ConfigurationState> {
  const projectKey = await readProjectKey(workspace);
  const reply = await loadWorkspace(workspace, coordinator, projectKey);
  warnOfFindings(warn, reply);
  if (!isProblem(reply)) return 'now';
  const known = await coordinator.methodology.start(projectKey, {});
  if (isProblem(known) || known.state === 'UNINITIALISED') return 'never';
  warn('The previous configuration stays in effect until this is fixed.');
  return 'before';
}

/** For files that changed while they are served: a file that cannot be read does not end the server. */
export const reloadConfiguration =
  (warn: (sentence: string) => void, workspace: Workspace, coordinator: Coordinator) =>
  async (): Promise<void> => {
    try {
      const state = await configure(warn, workspace, coordinator);
      if (state === 'now') warn('The changed configuration is in effect.');
    } catch (error) {
      warn((error as Error).message);
    }
  };

/** Names what is wrong with the files, or doubtful, and where. */
export function warnOfFindings(
  warn: (sentence: string) => void,
  reply: ConfigureResult | Problem | ApiProblem,
): void {
  const isRefused = isProblem(reply) || isApiProblem(reply);
  const findings = isRefused ? (reply.faults ?? []) : reply.warnings;
  if (isRefused) warn(reply.detail);
  for (const found of findings) {
    const { file, line, column, message } = found as { file?: string } & typeof found;
    const position = [file, line, column].filter((part) => part !== undefined).join(':');
    warn(`  ${position}  ${message}`);
  }
}
