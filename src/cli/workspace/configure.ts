import type { Coordinator } from '../../coordinator/coordinator.js';
import { isProblem } from '../../coordinator/wire/problem.js';
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
  const findings = isProblem(reply) ? (reply.faults ?? []) : reply.warnings;
  if (isProblem(reply)) warn(reply.detail);
  for (const found of findings) {
    const { file, line, column, message } = found as { file?: string } & typeof found;
    const position = [file, line, column].filter((part) => part !== undefined).join(':');
    warn(`  ${position}  ${message}`);
  }
  if (!isProblem(reply)) return 'now';
  const known = await coordinator.methodology.start(projectKey, {});
  if (isProblem(known) || known.state === 'UNINITIALISED') return 'never';
  warn('The previous configuration stays in effect until this is fixed.');
  return 'before';
}
