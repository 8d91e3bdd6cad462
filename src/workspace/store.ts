import { join } from 'node:path';
import type { Blobs } from '../stores/blobs.js';
import { openFileStore } from '../stores/file/file-store.js';
import { FolderBlobs } from '../stores/file/folder-blobs.js';
import { ACTIVE_FILE, positionOfSegment, SEGMENTS_FOLDER } from '../stores/file/layout.js';
import { visitWholeLines } from '../stores/file/line-reader.js';
import { eventIn } from '../stores/file/log-line.js';
import { nodeDisk } from '../stores/file/node-disk.js';
import { LogDamaged, type ProjectKey, type Store, StoreUnavailable } from '../stores/store.js';
import { assertOwnLog, FIRST_LINES_BYTES, readFirstBytes } from './foreign.js';
import { foreignLineEvents } from './foreign-line-events.js';
import { COORDINATION_FILE, readProjectKey } from './project-file.js';
import { isSwapInProgress } from './sync/swap.js';
import { findTrackedSecrets, WORKSPACE_SECRETS } from './tracked-secrets.js';
import { type Workspace, WorkspaceError } from './workspace.js';

export interface WorkspaceStore {
  readonly store: Store;
  readonly blobs: Blobs;
  /** The project whose log is `events/events.jsonl`. */
  readonly key: ProjectKey;
}

/** Opens the workspace's own log, and the store for other projects on this machine. */
export async function openWorkspaceStore(
  workspace: Workspace,
  warn: (sentence: string) => void,
): Promise<WorkspaceStore> {
  const projectKey = await readProjectKey(workspace);
  if (await isSwapInProgress(workspace.events)) {
    throw new WorkspaceError(
      'A pull was interrupted while it replaced the log. To finish it, run: gen sync pull.',
    );
  }
  await assertLogOfProject(workspace, projectKey);
  const root = workspace.events;
  // A folder that git tracks can come from anybody. If git tracks the keys too, the secret in the folder proves nothing.
  const { hasKeys } = await findTrackedSecrets(root, WORKSPACE_SECRETS);
  const untrusted_files = hasKeys ? 'secret' : 'log';
  const foreign_events = foreignLineEvents(projectKey);
  const store = await openFileStore({
    root,
    home: projectKey,
    untrusted_files,
    foreign_events,
    onWarning: warn,
  });
  try {
    await store.importForeignLines(projectKey);
  } catch (error) {
    // Commands that need the log report what is wrong with it.
    if (!(error instanceof LogDamaged || error instanceof StoreUnavailable)) {
      await store.close();
      throw error;
    }
  }
  return { store, blobs: new FolderBlobs(root), key: projectKey };
}

async function assertLogOfProject(workspace: Workspace, projectKey: ProjectKey): Promise<void> {
  await assertOwnLog(workspace);
  const path = join(workspace.events, ACTIVE_FILE);
  const owner = (await ownerOf(path)) ?? (await ownerOf(await firstSegment(workspace)));
  if (
    owner === null ||
    (owner.tenant_id === projectKey.tenant_id && owner.project_id === projectKey.project_id)
  )
    return;
  throw new WorkspaceError(
    `${path} is the log of ${owner.tenant_id}/${owner.project_id}, but ${COORDINATION_FILE} names ` +
      `${projectKey.tenant_id}/${projectKey.project_id}. Restore the old ids in that file: the project of a log cannot change.`,
  );
}

async function firstSegment(workspace: Workspace): Promise<string> {
  const folder = join(workspace.events, SEGMENTS_FOLDER);
  const [first = ''] = (await nodeDisk.list(folder))
    .filter((name) => positionOfSegment(name) !== null)
    .sort();
  return join(folder, first);
}

/** The project that the first event in a log file names; null if there is no file, or no event in its first lines. */
async function ownerOf(path: string): Promise<ProjectKey | null> {
  let owner: ProjectKey | null = null;
  visitWholeLines(await readFirstBytes(path, FIRST_LINES_BYTES), 0, (line) => {
    owner ??= eventIn(line);
  });
  return owner;
}
