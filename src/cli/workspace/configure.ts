import { type ApiProblem, isProblem as isApiProblem } from '../../client/replies.js';
import type { Coordinator } from '../../coordinator/coordinator.js';
import { isProblem, type Problem } from '../../coordinator/wire/problem.js';
import type { ConfigureResult } from '../../core/contract/configuration.js';
import { loadWorkspace } from '../../workspace/load.js';
import { readProjectKey } from '../../workspace/project-file.js';
import type { Workspace } from '../../workspace/workspace.js';

/** Which version of the files the log contains: the current version, an earlier valid version, or none. */
type ConfigurationState = 'current' | 'previous' | 'none';

/**
 * Loads the workspace's files into the log, and prints a notice for each fault. A fault in the file of a feature, an edge or a
 * profile concerns only what depends on that file. A fault in a file that everything depends on leaves the log unchanged.
 */
export async function configure(
  warn: (sentence: string) => void,
  workspace: Workspace,
  coordinator: Coordinator,
): Promise<ConfigurationState> {
  const projectKey = await readProjectKey(workspace);
  const reply = await loadWorkspace(workspace, coordinator, projectKey);
  warnOfFaultsAndWarnings(warn, reply);
  if (!isProblem(reply)) return 'current';
  const startReply = await coordinator.methodology.start(projectKey, {});
  if (isProblem(startReply) || startReply.state === 'UNINITIALISED') return 'none';
  warn('The previous configuration stays in effect until this is fixed.');
  return 'previous';
}

/** Loads files that changed while they are served: a file that cannot be read does not end the server. */
export const reloadConfiguration =
  (warn: (sentence: string) => void, workspace: Workspace, coordinator: Coordinator) =>
  async (): Promise<void> => {
    try {
      const state = await configure(warn, workspace, coordinator);
      if (state === 'current') warn('The changed configuration is in effect.');
    } catch (error) {
      warn((error as Error).message);
    }
  };

/** Warns about faults and doubtful settings in the files, with their positions. */
export function warnOfFaultsAndWarnings(
  warn: (sentence: string) => void,
  reply: ConfigureResult | Problem | ApiProblem,
): void {
  if (isProblem(reply) || isApiProblem(reply)) {
    warn(reply.detail);
    for (const fault of reply.faults ?? []) warn(locatedText(fault));
    return;
  }
  warnOfFaults(warn, reply);
  for (const warning of reply.warnings) warn(locatedText(warning));
}

/** Warns about the faults of single files, and about their consequences. */
export function warnOfFaults(
  warn: (sentence: string) => void,
  { faults }: Pick<ConfigureResult, 'faults'>,
): void {
  if (faults.length === 0) return;
  warn(
    'Some files have faults. The others are in effect: a feature or profile of such a file is not loaded, and an edge of ' +
      'such a file does not converge.',
  );
  for (const fault of faults) warn(locatedText(fault));
}

function locatedText(located: LocatedMessage): string {
  const { file, line, column, message } = located as { file?: string } & LocatedMessage;
  const position = [file, line, column].filter((part) => part !== undefined).join(':');
  return `  ${position}  ${message}`;
}

type LocatedMessage = NonNullable<Problem['faults']>[number] | ConfigureResult['faults'][number];
