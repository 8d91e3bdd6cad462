import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ALL_FILES_LENGTH_MAX } from '../core/methodology/definition/read/file-kinds.js';
import { type FileFault, readRegularFile } from './regular-file.js';
import { INTENT_FILE, type Workspace, WorkspaceError } from './workspace.js';

const FILES_MAX = 2000;
const FILE_BYTES_MAX = 1024 * 1024;
const TOTAL_BYTES_MAX = ALL_FILES_LENGTH_MAX;
const DEPTH_MAX = 8;

const YAML = /\.ya?ml$/;
/** Folders with work products, which contain no configuration. */
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(['events', 'agents', 'snapshots', 'reviews']);

/** Every YAML file of a workspace by its path relative to `.ai-workspace/`, and the intent. Never reads outside. */
export async function readWorkspaceFiles(workspace: Workspace): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  let totalBytes = 0;
  const addFile = (name: string, path: string): void => {
    const bytes = readRegularFile(path, FILE_BYTES_MAX);
    if (bytes === 'missing') return;
    if (typeof bytes === 'string') throw new WorkspaceError(`${path} ${FAULT_MESSAGES[bytes]}`);
    totalBytes += bytes.length;
    if (files.size >= FILES_MAX || totalBytes > TOTAL_BYTES_MAX) throw sizeLimitError(workspace);
    files.set(name, bytes.toString('utf8'));
  };
  for (const name of await configurationFiles(workspace)) addFile(name, workspace.path(name));
  addFile(INTENT_FILE, join(workspace.root, INTENT_FILE));
  return files;
}

/** The names of the YAML files, relative to `.ai-workspace/`, sorted. */
export async function configurationFiles(workspace: Workspace): Promise<string[]> {
  const names: string[] = [];
  const walk = async (within: string, depth: number): Promise<void> => {
    if (depth > DEPTH_MAX) throw sizeLimitError(workspace);
    const entries = await readdir(workspace.path(within), { withFileTypes: true });
    // Sorted, so that the read order is deterministic.
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = within === '' ? entry.name : `${within}/${entry.name}`;
      if (entry.name.startsWith('.') || SKIPPED_FOLDERS.has(name)) continue;
      if (entry.isSymbolicLink()) throw new WorkspaceError(`${workspace.path(name)} ${FAULT_MESSAGES.link}`);
      if (entry.isDirectory()) await walk(name, depth + 1);
      else if (YAML.test(entry.name)) names.push(name);
      if (names.length > FILES_MAX) throw sizeLimitError(workspace);
    }
  };
  await walk('', 1);
  return names;
}

const FAULT_MESSAGES: Readonly<Record<Exclude<FileFault, 'missing'>, string>> = {
  link: 'is a link. Links in a workspace are not followed: replace it with a copy.',
  not_a_file: 'is not a regular file. Remove it, or replace it with a regular file.',
  hard_link: 'has more than one hard link. Replace it with a copy.',
  too_large: `has more than ${FILE_BYTES_MAX / 1024} KiB. Split it, or remove what is not configuration.`,
};

const sizeLimitError = (workspace: Workspace): WorkspaceError =>
  new WorkspaceError(
    `${workspace.folder} is too large: the limits are ${FILES_MAX} YAML files, ${TOTAL_BYTES_MAX / 1024 ** 2} MiB ` +
      `in total, and ${DEPTH_MAX} levels of folders. Move out files that are not configuration.`,
  );
