import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { importProject } from '../../coordinator/transfer/import-project.js';
import { isoTime } from '../../core/events/envelope.js';
import type { Blobs } from '../../stores/blobs.js';
import { writeAtomically } from '../../stores/file/disk.js';
import { openFileStore } from '../../stores/file/file-store.js';
import { FolderBlobs } from '../../stores/file/folder-blobs.js';
import { ACTIVE_FILE, DURABLE_FILE, paddedPosition } from '../../stores/file/layout.js';
import { nodeDisk } from '../../stores/file/node-disk.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import type { SyncRemote } from './remote.js';
import { remoteArchive } from './remote-archive.js';
import { finishSwap, REBUILT_FOLDER, swapLog } from './swap.js';
import { readCursor, type SyncCursor, writeCursor } from './sync-file.js';
import { readSyncState, type SyncState } from './sync-state.js';
import {
  isSyncRefusal,
  type LocalLog,
  type SyncOptions,
  type SyncRefusal,
  type SyncWorkspace,
} from './sync-workspace.js';

const OFFLINE_FOLDER = 'offline';
const PAGE_SIZE = 1000;

export interface PullOptions extends SyncOptions {
  /** Discards unpushed offline work from the log, and saves it to a file. */
  readonly keep_aside: boolean;
}

export interface PullReport {
  readonly position: number;
  /** Number of new events. */
  readonly received: number;
  /** Whether the log was rebuilt from the remote's. */
  readonly rebuilt: boolean;
  /** The file with the offline events; null if there were none. */
  readonly aside: string | null;
}

/**
 * Makes the local log a replica of the remote's, at the same positions. Offline work must have been pushed before,
 * so the remote's log has it in the remote's order: the local tail is saved to a file, and the log is rebuilt.
 */
export async function pull(
  workspace: SyncWorkspace,
  remote: SyncRemote,
  options: PullOptions,
): Promise<PullReport | SyncRefusal> {
  await finishSwap(workspace.events, options.onStep);
  const cursor = await readCursor(workspace, remote.name);
  const report = (await isLogLost(workspace))
    ? await rebuildLostLog(workspace, remote, options)
    : await pullOpened(workspace, remote, cursor, options);
  if (isSyncRefusal(report)) return report;
  await options.onStep('pulled');
  await writeCursor(workspace, remote.name, {
    replicated_position: report.position,
    pushed_position: report.position,
    last_pull: isoTime(options.now_ms),
    last_push: cursor?.last_push ?? null,
  });
  return report;
}

async function pullOpened(
  workspace: SyncWorkspace,
  remote: SyncRemote,
  cursor: SyncCursor | null,
  options: PullOptions,
): Promise<PullReport | SyncRefusal> {
  const local = await workspace.open();
  let position: number;
  let tail: OfflineTail;
  try {
    const state = await readSyncState(local.store, workspace.key, remote, cursor);
    if (isSyncRefusal(state)) return state;
    if (state.local_position === state.common) return await replicate(workspace.key, local, remote, state);
    if (!options.keep_aside && cursor?.pushed_position !== state.local_position) return notPushed(state);
    tail = await saveTail(workspace, local.store, state);
    await options.onStep('aside');
    position = state.remote_position;
    // Keep the local copy of the common part: a remote that now reports other events does not replace it.
    const archive = remoteArchive(remote, workspace.key, position, {
      store: local.store,
      until: state.common,
    });
    const fault = await rebuildLog(workspace, archive, remote);
    if (fault !== null) return fault;
  } finally {
    await local.store.close();
  }
  return swapIn(workspace, position, tail, options);
}

async function rebuildLostLog(
  workspace: SyncWorkspace,
  remote: SyncRemote,
  options: PullOptions,
): Promise<PullReport | SyncRefusal> {
  const position = await remote.position();
  const fault = await rebuildLog(workspace, remoteArchive(remote, workspace.key, position, null), remote);
  return fault ?? swapIn(workspace, position, null, options);
}

const notPushed = ({ common, local_position }: SyncState): SyncRefusal => ({
  refused: 'TAIL_NOT_PUSHED',
  detail:
    `${local_position - common} events were written here and not told to the remote. Tell it first: gen sync push. ` +
    'Or put them aside, unheard: gen sync pull --keep-aside.',
});

/** Appends the remote's new events. There is no local tail. */
async function replicate(
  key: ProjectKey,
  { store, blobs }: LocalLog,
  remote: SyncRemote,
  { common, remote_position: position }: SyncState,
): Promise<PullReport | SyncRefusal> {
  const report = { position, received: position - common, rebuilt: false, aside: null };
  if (position === common) return report;
  const archive = remoteArchive(remote, key, position, { store, until: common });
  const fault = await importArchive(store, blobs, archive, remote);
  return fault ?? report;
}

interface OfflineTail {
  readonly file: string;
  /** Size of the active file when the tail was read, to detect later writes. */
  readonly size_bytes: number;
}

/** Saves the local-only events to a permanent file, one per line. */
async function saveTail(
  { events, key }: SyncWorkspace,
  store: Store,
  { common, local_position }: SyncState,
): Promise<OfflineTail> {
  const lines: string[] = [];
  for (let after = common; after < local_position; ) {
    const page = await store.events(key, { after, until_position: local_position, limit: PAGE_SIZE });
    for (const event of page) lines.push(`${JSON.stringify(event)}\n`);
    after = page.at(-1)?.position ?? local_position;
  }
  const folder = join(events, OFFLINE_FOLDER);
  const name = `${paddedPosition(common + 1)}-${paddedPosition(local_position)}.jsonl`;
  await nodeDisk.makeFolder(folder);
  await writeAtomically(nodeDisk, folder, name, lines.join(''));
  return { file: join(folder, name), size_bytes: await sizeOf(join(events, ACTIVE_FILE)) };
}

/** Builds the whole log in a separate folder. */
async function rebuildLog(
  { events, key }: SyncWorkspace,
  archive: ReturnType<typeof remoteArchive>,
  remote: SyncRemote,
): Promise<SyncRefusal | null> {
  const root = join(events, REBUILT_FOLDER);
  await nodeDisk.removeFolder(root);
  const store = await openFileStore({ root, home: key });
  try {
    return await importArchive(store, new FolderBlobs(events), archive, remote);
  } finally {
    await store.close();
  }
}

/** Replaces the current log with the rebuilt one. */
async function swapIn(
  { events }: SyncWorkspace,
  position: number,
  tail: OfflineTail | null,
  { onStep }: PullOptions,
): Promise<PullReport | SyncRefusal> {
  await onStep('rebuilt');
  const path = join(events, ACTIVE_FILE);
  const unchanged = async () => (await sizeOf(path)) === (tail?.size_bytes ?? 0);
  if (!(await swapLog(events, unchanged, onStep))) {
    return {
      refused: 'WRITTEN_MEANWHILE',
      detail: 'Something was written to the log meanwhile. Run it again.',
    };
  }
  return { position, received: position, rebuilt: true, aside: tail?.file ?? null };
}

async function importArchive(
  store: Store,
  blobs: Blobs,
  archive: ReturnType<typeof remoteArchive>,
  remote: SyncRemote,
): Promise<SyncRefusal | null> {
  const moved = await importProject(store, blobs, archive);
  if (!('refused' in moved)) return null;
  return {
    refused: 'REMOTE_BROKEN',
    detail: `The log of ${remote.name} cannot be taken over. ${moved.detail}`,
  };
}

/** Whether the log is missing although its durable marker shows that it existed. */
async function isLogLost({ events }: SyncWorkspace): Promise<boolean> {
  return (await sizeOf(join(events, ACTIVE_FILE))) === 0 && (await sizeOf(join(events, DURABLE_FILE))) > 0;
}

const sizeOf = async (path: string): Promise<number> => (await lstat(path).catch(() => null))?.size ?? 0;
