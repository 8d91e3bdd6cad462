import { parseCoordination } from './read/coordination.js';
import { filesByKind } from './read/file-kinds.js';
import { WorkspaceFiles, type WorkspaceTexts } from './read/workspace-files.js';
import { ConfigFindings } from './read/yaml-file.js';

/** Whether the mode of a workspace depends on this file. */
export const isCoordinationFile = (path: string): boolean => filesByKind([path]).has('coordination');

/** Whether a single agent owns the log. Commands ask before all else, so only the coordination file is read. */
export function isSingleAgentMode(texts: WorkspaceTexts): boolean {
  const file = new WorkspaceFiles(texts, new ConfigFindings()).fileOrBuiltIn(
    'coordination',
    'coordination.yml',
  );
  return file !== null && parseCoordination(file)?.mode === 'single';
}
