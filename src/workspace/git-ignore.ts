import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
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

/**
 * Paths of the CLI's own folder, `.genesis`. Each is listed by name, because git must see the files of other tools there.
 */
const IGNORED_CLI_PATHS: readonly string[] = [
  // The embedded log and its secret.
  'log/',
  'handles/',
  'sessions/',
  'projects/',
  'outbox/',
  'fleet/',
  // Who called the server, and when.
  'access.log',
  'access.log.*',
  // The key is here if GENESIS_HOME names this folder.
  'signing-key.pem',
];
/** The pattern that earlier versions wrote, which also hides the files of other tools. */
const HIDES_EVERYTHING = '*\n';
const HEADING = '# Files of this machine only. Some are secret.\n';

/** The lines missing from the workspace's `.gitignore`. */
export const missingIgnores = (workspace: Workspace): string[] =>
  missingLines(ignoreFileText(workspace.path('.gitignore')), IGNORED_PATHS);

/** Appends the missing lines and leaves existing ones unchanged, unless the only one is `*`. Returns what it added. */
export const addMissingIgnores = (workspace: Workspace): Promise<string[]> =>
  addLines(workspace.path('.gitignore'), IGNORED_PATHS);

/** Adds the missing lines to the `.gitignore` of the CLI's folder. */
export const addMissingCliIgnores = (cliFolder: string): Promise<string[]> =>
  addLines(join(cliFolder, '.gitignore'), IGNORED_CLI_PATHS);

async function addLines(path: string, lines: readonly string[]): Promise<string[]> {
  const existing = ignoreFileText(path);
  const text = existing === HIDES_EVERYTHING || existing === '' ? HEADING : existing;
  const missing = missingLines(text, lines);
  if (missing.length === 0) return [];
  const separator = text.endsWith('\n') ? '' : '\n';
  await mkdir(dirname(path), { recursive: true });
  // Replace instead of writing in place: the name may have become a link since it was read.
  await writeFile(`${path}.tmp`, `${text}${separator}${missing.join('\n')}\n`);
  await rename(`${path}.tmp`, path);
  return missing;
}

function ignoreFileText(path: string): string {
  const bytes = readRegularFile(path, FILE_BYTES_MAX);
  if (bytes === 'missing') return '';
  if (typeof bytes !== 'string') return bytes.toString('utf8');
  throw new WorkspaceError(
    `${path} is not a regular file of at most ${FILE_BYTES_MAX / 1024} KiB (${bytes}). ` +
      'Replace it with a regular file, then run this command again.',
  );
}

function missingLines(text: string, wanted: readonly string[]): string[] {
  const lines = new Set(text.split('\n').map((line) => line.trim()));
  return wanted.filter((path) => !lines.has(path));
}
