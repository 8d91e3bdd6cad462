import { isCoordinationFile } from '../core/methodology/definition/read/file-kinds.js';
import { SINGLE_AGENT } from '../core/methodology/single-agent.js';
import { readWorkspaceFiles } from './read-files.js';
import type { Workspace } from './workspace.js';

/** Without the word or an escape that may spell it, a file cannot ask for the mode. */
const MAY_BE_SINGLE = /single|\\/;

/**
 * Whether a single agent owns the log, so that there is no inbox and no serialiser. Every command asks, so the parser
 * is loaded only if the coordination file may say so.
 */
export async function isSingleAgent(workspace: Workspace): Promise<boolean> {
  const texts = await readWorkspaceFiles(workspace, isCoordinationFile);
  if (![...texts.files.values()].some((text) => MAY_BE_SINGLE.test(text))) return false;
  const { isSingleAgentMode } = await import('../core/methodology/definition/read-mode.js');
  return isSingleAgentMode(texts);
}

/** The agent of a single-agent workspace; null otherwise. */
export const soleAgent = async (workspace: Workspace): Promise<string | null> =>
  (await isSingleAgent(workspace)) ? SINGLE_AGENT.agent_id : null;
