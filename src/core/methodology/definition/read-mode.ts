import { parseCoordination } from './read/coordination.js';
import { WorkspaceFiles, type WorkspaceTexts } from './read/workspace-files.js';
import { ConfigFaultList } from './read/yaml-file.js';

/** Whether a single agent owns the log. Reads only the coordination file. */
export function isSingleAgentMode(texts: WorkspaceTexts): boolean {
  const file = new WorkspaceFiles(texts, new ConfigFaultList()).fileOrBuiltIn(
    'coordination',
    'coordination.yml',
  );
  return file !== null && parseCoordination(file)?.mode === 'single';
}
