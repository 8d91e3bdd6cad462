import { rename, writeFile } from 'node:fs/promises';
import { readRegularFile } from './regular-file.js';
import { type Workspace, WorkspaceError } from './workspace.js';

/** Paths that belong to this machine only, relative to `.ai-workspace`. Each is a line of `.gitignore`. */
const IGNORED_PATHS: readonly string[] = [
  // The secret that claim ids are derived from and keys are bound to.
  'events/store.json',
  // The address of the server that holds the log.
  'events/server.json',
  // API keys, and the logs of other tenants and projects.
  'events/tenants/',
  'events/*.tmp',
  'events/lock',
  'events/durable',
  'events/inbox/',
  'events/outcome/',
  'events/broken/',
  'events/snapshots/',
  'events/.rebuilt/',
  'events/.replaced/',
  'events/.swap',
  'agents/',
  // The last sync of this machine, with the remote that a token is sent to.
  'sync.yml',
];
const FILE_BYTES_MAX = 256 * 1024;

export const IGNORE_TEXT = `# Files of this machine only. Some are secret.\n${IGNORED_PATHS.join('\n')}\n`;

/** The lines missing from the workspace's `.gitignore`. */
export const missingIgnores = (workspace: Workspace): string[] => missingPathsIn(ignoreFileText(workspace));

/** Appends the missing lines and leaves existing ones unchanged. Returns what it added. */
export async function addMissingIgnores(workspace: Workspace): Promise<string[]> {
  const text = ignoreFileText(workspace);
  const missing = missingPathsIn(text);
  if (missing.length === 0) return [];
  const separator = text === '' || text.endsWith('\n') ? '' : '\n';
  const path = workspace.path('.gitignore');
  // Replace instead of writing in place: the name may have become a link since it was read.
  await writeFile(`${path}.tmp`, `${text}${separator}${missing.join('\n')}\n`);
  await rename(`${path}.tmp`, path);
  return missing;
}

function ignoreFileText(workspace: Workspace): string {
  const path = workspace.path('.gitignore');
  const bytes = readRegularFile(path, FILE_BYTES_MAX);
  if (bytes === 'missing') return '';
  if (typeof bytes !== 'string') return bytes.toString('utf8');
  throw new WorkspaceError(
    `${path} is not a regular file of at most ${FILE_BYTES_MAX / 1024} KiB (${bytes}). ` +
      'Replace it with one, then run this command again.',
  );
}

function missingPathsIn(text: string): string[] {
  const lines = new Set(text.split('\n').map((line) => line.trim()));
  return IGNORED_PATHS.filter((path) => !lines.has(path));
}
