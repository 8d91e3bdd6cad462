import { type Dirent, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { ALL_FILES_LENGTH_MAX } from '../core/methodology/definition/read/file-kinds.js';
import type { WorkspaceTexts } from '../core/methodology/definition/read/workspace-files.js';
import {
  DEPTH_MAX,
  hasConfigurationName,
  isSkippedPath,
  leadsToAncestor,
  pathInFolder,
} from './configuration-path.js';
import { type FollowedPath, followInProject } from './project-link.js';
import { type FileFault, isAccessError, readRegularFile } from './regular-file.js';
import { INTENT_FILE, WORKSPACE_FOLDER, type Workspace, WorkspaceError } from './workspace.js';

const FILES_MAX = 2000;
const FILE_BYTES_MAX = 1024 * 1024;
const TOTAL_BYTES_MAX = ALL_FILES_LENGTH_MAX;

/**
 * The configuration files of a workspace by their path relative to `.ai-workspace/` (see `configuration-path.ts`), and the
 * intent. Links within the project are followed. A file that cannot be read is listed with the reason, and the other files
 * are read; the parser decides what a missing file prevents. Throws if the files are too many or too large. Never reads
 * outside the project. `isWanted` limits the files that are read by their path.
 */
export async function readWorkspaceFiles(
  workspace: Workspace,
  isWanted: (path: string) => boolean = () => true,
): Promise<WorkspaceTexts> {
  const { names, unreadable } = await findConfiguration(workspace);
  const files = new Map<string, string>();
  let totalBytes = 0;
  const addFile = (name: string, ...parts: readonly string[]): void => {
    const bytes = readFollowed(followInProject(workspace, ...parts));
    if (bytes === 'missing') return;
    if (typeof bytes === 'string') {
      unreadable.set(name, FAULT_TEXTS[bytes]);
      return;
    }
    totalBytes += bytes.length;
    if (files.size >= FILES_MAX || totalBytes > TOTAL_BYTES_MAX) throw sizeLimitError(workspace);
    files.set(name, bytes.toString('utf8'));
  };
  for (const name of names.filter(isWanted)) addFile(name, WORKSPACE_FOLDER, name);
  if (isWanted(INTENT_FILE)) addFile(INTENT_FILE, INTENT_FILE);
  return { files, unreadable };
}

/** The files in the form of the request body that loads them. */
export const configureBodyOf = ({ files, unreadable }: WorkspaceTexts) => ({
  files: Object.fromEntries(files),
  ...(unreadable.size === 0 ? {} : { unreadable: Object.fromEntries(unreadable) }),
});

function readFollowed(followed: FollowedPath): Buffer | ConfigFileFault | 'missing' {
  if ('fault' in followed) return followed.fault;
  try {
    return readRegularFile(followed.path, FILE_BYTES_MAX);
  } catch (error) {
    if (isAccessError(error)) return 'no_access';
    throw error;
  }
}

/** The paths of the YAML files, relative to `.ai-workspace/`. The order is deterministic: entry by entry, in name order. */
export const configurationFiles = async (workspace: Workspace): Promise<string[]> =>
  (await findConfiguration(workspace)).names;

interface FoundConfiguration {
  /** The names of YAML files, relative to `.ai-workspace/`. */
  readonly names: string[];
  /** The files and folders that cannot be read, each with the reason. */
  readonly unreadable: Map<string, string>;
}

async function findConfiguration(workspace: Workspace): Promise<FoundConfiguration> {
  const configuration: FoundConfiguration = { names: [], unreadable: new Map() };
  const walkFolder = async (folder: string, depth: number): Promise<void> => {
    if (depth > DEPTH_MAX) throw sizeLimitError(workspace);
    for (const entry of await entriesOf(workspace, folder, configuration)) {
      const name = pathInFolder(folder, entry.name);
      if (isSkippedPath(name)) continue;
      const kind = entry.isSymbolicLink() ? kindOfLink(workspace, name, configuration) : kindOf(entry);
      if (kind === 'folder') await walkFolder(name, depth + 1);
      else if (kind === 'file' && hasConfigurationName(name)) configuration.names.push(name);
      if (configuration.names.length > FILES_MAX) throw sizeLimitError(workspace);
    }
  };
  await walkFolder('', 1);
  return configuration;
}

/** Sorted, so that the read order is deterministic. */
async function entriesOf(
  workspace: Workspace,
  folder: string,
  { unreadable }: FoundConfiguration,
): Promise<Dirent[]> {
  try {
    const entries = await readdir(workspace.path(folder), { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if (folder === '' || !isAccessError(error)) throw error;
    unreadable.set(folder, FAULT_TEXTS.no_access);
    return [];
  }
}

const kindOf = (entry: { isDirectory(): boolean }): 'file' | 'folder' =>
  entry.isDirectory() ? 'folder' : 'file';

/** The kind of entry that a link leads to. If the link is not followed, records the reason and returns null. */
function kindOfLink(
  workspace: Workspace,
  name: string,
  { unreadable }: FoundConfiguration,
): 'file' | 'folder' | null {
  const followed = followInProject(workspace, WORKSPACE_FOLDER, name);
  const target =
    'path' in followed || followed.fault === 'outside' ? statOf(workspace.path(name)) : undefined;
  // A link to anything but YAML or a folder is not configuration.
  const isRelevant = hasConfigurationName(name) || target?.isDirectory() === true;
  if ('path' in followed) {
    if (!leadsToAncestor(workspace.path(name), followed.path))
      return target === undefined ? null : kindOf(target);
    unreadable.set(name, FAULT_TEXTS.loop);
  } else if (isRelevant) {
    unreadable.set(name, FAULT_TEXTS[followed.fault === 'missing' ? 'broken' : followed.fault]);
  }
  return null;
}

const statOf = (path: string) => statSync(path, { throwIfNoEntry: false });

type ConfigFileFault =
  | Exclude<FileFault, 'missing'>
  | 'outside'
  | 'own_store'
  | 'loop'
  | 'broken'
  | 'no_access';

const FAULT_TEXTS: Readonly<Record<ConfigFileFault, string>> = {
  link: 'It is a link that changed while it was read. Try again.',
  outside: 'It is a link that leaves the project, and is not followed. Replace it with a copy.',
  own_store: 'It is a link into the folder of the log, and is not followed. Replace it with a copy.',
  loop: 'It is a link that leads back to itself or to a folder above it. Remove it.',
  broken: 'It is a link that leads nowhere. Correct it, or remove it.',
  no_access: 'This user may not read it. Change its permissions.',
  not_a_file: 'It is not a regular file. Remove it, or replace it with a regular file.',
  hard_link: 'It has more than one hard link. Replace it with a copy.',
  too_large: `It has more than ${FILE_BYTES_MAX / 1024} KiB. Split it, or remove what is not configuration.`,
};

const sizeLimitError = (workspace: Workspace): WorkspaceError =>
  new WorkspaceError(
    `${workspace.folder} is too large: the limits are ${FILES_MAX} YAML files, ${TOTAL_BYTES_MAX / 1024 ** 2} MiB ` +
      `in total, and ${DEPTH_MAX} levels of folders. Move out files that are not configuration.`,
  );
