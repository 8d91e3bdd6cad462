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
import { type Standing, standing } from './common.js';
import { isRefusal, type LocalLog, type SyncOptions, type SyncPlace, type SyncRefusal } from './place.js';
import type { Remote } from './remote.js';
import { remoteArchive } from './remote-archive.js';
import { finishSwap, REBUILT_FOLDER, swapLog } from './swap.js';
import { readCursor, type SyncCursor, writeCursor } from './sync-file.js';

const OFFLINE_FOLDER = 'offline';
const PAGE = 1000;

export interface PullOptions extends SyncOptions {
  /** Whatever was done offline and not told to the remote is put aside. */
  readonly keep_aside: boolean;
}

export interface PullReport {
  readonly position: number;
  /** New here. */
  readonly received: number;
  /** The log was built anew from the remote's. */
  readonly rebuilt: boolean;
  /** Where the events are that were done offline; null: there were none. */
  readonly aside: string | null;
}

/**
 * Makes the local log a replica of the remote's, at the same positions. What was done offline has been told to the
 * remote by then, and is in its log in the remote's order: the local tail is put aside and the log built anew.
 */
export async function pull(
  place: SyncPlace,
  remote: Remote,
  options: PullOptions,
): Promise<PullReport | SyncRefusal> {
  await finishSwap(place.events, options.onStep);
  const cursor = await readCursor(place, remote.name);
  const report = (await isLost(place))
    ? await rebuildLost(place, remote, options)
    : await pullOpened(place, remote, cursor, options);
  if (isRefusal(report)) return report;
  await options.onStep('pulled');
  await writeCursor(place, remote.name, {
    replicated_position: report.position,
    pushed_position: report.position,
    last_pull: isoTime(options.now_ms),
    last_push: cursor?.last_push ?? null,
  });
  return report;
}

async function pullOpened(
  place: SyncPlace,
  remote: Remote,
  cursor: SyncCursor | null,
  options: PullOptions,
): Promise<PullReport | SyncRefusal> {
  const local = await place.open();
  let position: number;
  let tail: Tail;
  try {
    const now = await standing(local.store, place.key, remote, cursor);
    if (isRefusal(now)) return now;
    if (now.local_position === now.common) return await replicate(place.key, local, remote, now);
    if (!options.keep_aside && cursor?.pushed_position !== now.local_position) return notPushed(now);
    tail = await setAside(place, local.store, now);
    await options.onStep('aside');
    position = now.remote_position;
    // What both have is kept as it is here: a remote that tells it otherwise now does not replace it.
    const archive = remoteArchive(remote, place.key, position, { store: local.store, until: now.common });
    const fault = await build(place, archive, remote);
    if (fault !== null) return fault;
  } finally {
    await local.store.close();
  }
  return putInPlace(place, position, tail, options);
}

async function rebuildLost(
  place: SyncPlace,
  remote: Remote,
  options: PullOptions,
): Promise<PullReport | SyncRefusal> {
  const position = await remote.position();
  const fault = await build(place, remoteArchive(remote, place.key, position, null), remote);
  return fault ?? putInPlace(place, position, null, options);
}

const notPushed = ({ common, local_position }: Standing): SyncRefusal => ({
  refused: 'TAIL_NOT_PUSHED',
  detail:
    `${local_position - common} events were written here and not told to the remote. Tell it first: gen sync push. ` +
    'Or put them aside, unheard: gen sync pull --keep-aside.',
});

/** Nothing was done here meanwhile: what is new is added. */
async function replicate(
  key: ProjectKey,
  { store, blobs }: LocalLog,
  remote: Remote,
  { common, remote_position: position }: Standing,
): Promise<PullReport | SyncRefusal> {
  const report = { position, received: position - common, rebuilt: false, aside: null };
  if (position === common) return report;
  const archive = remoteArchive(remote, key, position, { store, until: common });
  const fault = await bring(store, blobs, archive, remote);
  return fault ?? report;
}

interface Tail {
  readonly file: string;
  /** Of the active file, when the tail was read: whoever writes after that is noticed. */
  readonly size_bytes: number;
}

/** The events that are only here, one a line, in a file that stays. */
async function setAside(
  { events, key }: SyncPlace,
  store: Store,
  { common, local_position }: Standing,
): Promise<Tail> {
  const lines: string[] = [];
  for (let after = common; after < local_position; ) {
    const page = await store.events(key, { after, until_position: local_position, limit: PAGE });
    for (const event of page) lines.push(`${JSON.stringify(event)}\n`);
    after = page.at(-1)?.position ?? local_position;
  }
  const folder = join(events, OFFLINE_FOLDER);
  const name = `${paddedPosition(common + 1)}-${paddedPosition(local_position)}.jsonl`;
  await nodeDisk.makeFolder(folder);
  await writeAtomically(nodeDisk, folder, name, lines.join(''));
  return { file: join(folder, name), size_bytes: await sizeOf(join(events, ACTIVE_FILE)) };
}

/** The whole log, beside the one that is there. */
async function build(
  { events, key }: SyncPlace,
  archive: ReturnType<typeof remoteArchive>,
  remote: Remote,
): Promise<SyncRefusal | null> {
  const root = join(events, REBUILT_FOLDER);
  await nodeDisk.removeFolder(root);
  const store = await openFileStore({ root, home: key });
  try {
    return await bring(store, new FolderBlobs(events), archive, remote);
  } finally {
    await store.close();
  }
}

/** The log that was built takes the place of the one that is there. */
async function putInPlace(
  { events }: SyncPlace,
  position: number,
  tail: Tail | null,
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

async function bring(
  store: Store,
  blobs: Blobs,
  archive: ReturnType<typeof remoteArchive>,
  remote: Remote,
): Promise<SyncRefusal | null> {
  const moved = await importProject(store, blobs, archive);
  if (!('refused' in moved)) return null;
  return {
    refused: 'REMOTE_BROKEN',
    detail: `The log of ${remote.name} cannot be taken over. ${moved.detail}`,
  };
}

/** The log is not there, but what lies beside it says that there was one. */
async function isLost({ events }: SyncPlace): Promise<boolean> {
  return (await sizeOf(join(events, ACTIVE_FILE))) === 0 && (await sizeOf(join(events, DURABLE_FILE))) > 0;
}

const sizeOf = async (path: string): Promise<number> => (await lstat(path).catch(() => null))?.size ?? 0;
