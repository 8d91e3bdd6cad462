import { isCoordinationFile } from '../core/methodology/definition/read/file-kinds.js';
import { SINGLE_AGENT } from '../core/methodology/single-agent.js';
import { readWorkspaceFiles } from './read-files.js';
import type { Workspace } from './workspace.js';

/** A file without the word `single`, or an escape that may spell it, cannot select the single-agent mode. */
const MAY_BE_SINGLE = /single|\\/;

/**
 * Whether a single agent owns the log, so that there is no inbox and no serialiser. Every command calls this,
 * so the parser is loaded only if a coordination file may select the mode.
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
