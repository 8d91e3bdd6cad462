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
import type { Store } from '../../stores/store.js';
import { eventsUntil } from '../event-pages.js';
import type { SyncRemote } from './remote.js';
import { type Replica, remoteArchive } from './remote-archive.js';
import { finishSwap, REBUILT_FOLDER, swapLog } from './swap.js';
import { readCursor, writeCursor } from './sync-file.js';
import { readSyncState, type SyncState } from './sync-state.js';
import { isSyncRefusal, type SyncOptions, type SyncRefusal, type SyncWorkspace } from './sync-workspace.js';

const OFFLINE_FOLDER = 'offline';

interface PullOptions extends SyncOptions {
  /**
   * Whether local events that were not pushed may be replaced. Replaced events are always saved to a file first; without
   * this option, a pull that would replace any is refused.
   */
  readonly may_replace_unpushed: boolean;
}

export interface PullReport {
  readonly position: number;
  readonly received: number;
  /** Whether the log was rebuilt from the remote's. */
  readonly rebuilt: boolean;
  /** The file with the offline events; null if there were none. */
  readonly aside: string | null;
}

/**
 * Makes the local log a replica of the remote's, at the same positions. Without offline work, appends the remote's new
 * events. Offline work must have been pushed before, so that the remote's log contains it in the remote's order, unless
 * `may_replace_unpushed` is set. The offline events are then saved to a file, and the log is rebuilt.
 */
export async function pull(
  workspace: SyncWorkspace,
  remote: SyncRemote,
  options: PullOptions,
): Promise<PullReport | SyncRefusal> {
  await finishSwap(workspace.events, options.onStep);
  const cursor = await readCursor(workspace, remote.name);
  const run = new PullRun(workspace, remote, options);
  const report = await ((await run.isLogLost()) ? run.rebuildLostLog() : run.updateLog());
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

interface SavedOfflineEvents {
  readonly file: string;
  /** Size of the active file when the offline events were read, to detect later writes. */
  readonly size_bytes: number;
}

class PullRun {
  private readonly logFile: string;

  constructor(
    private readonly workspace: SyncWorkspace,
    private readonly remote: SyncRemote,
    private readonly options: PullOptions,
  ) {
    this.logFile = join(workspace.events, ACTIVE_FILE);
  }

  /** Whether the log is missing or empty although its durable marker shows that it had events. */
  async isLogLost(): Promise<boolean> {
    const marker = join(this.workspace.events, DURABLE_FILE);
    return (await sizeOf(this.logFile)) === 0 && (await sizeOf(marker)) > 0;
  }

  async rebuildLostLog(): Promise<PullReport | SyncRefusal> {
    const position = await this.remote.position();
    return (await this.rebuildLog(position, null)) ?? this.swapIn(position, null);
  }

  /** Appends the remote's new events; if there are offline events, rebuilds the log instead. */
  async updateLog(): Promise<PullReport | SyncRefusal> {
    const { store, blobs } = await this.workspace.open();
    let position: number;
    let saved: SavedOfflineEvents;
    try {
      const state = await readSyncState(this.workspace, store, this.remote);
      if (isSyncRefusal(state)) return state;
      const { common_position, local_position, cursor } = state;
      position = state.remote_position;
      // Keep the local copy of the common part: a remote that now reports other events does not replace it.
      const replica = { store, until: common_position };
      if (local_position === common_position) {
        const received = position - common_position;
        const refused = received === 0 ? null : await this.importInto(store, blobs, position, replica);
        return refused ?? { position, received, rebuilt: false, aside: null };
      }
      if (!this.options.may_replace_unpushed && cursor?.pushed_position !== local_position)
        return notPushedRefusal(state);
      saved = await this.saveOfflineEvents(store, state);
      await this.options.onStep('aside');
      const refused = await this.rebuildLog(position, replica);
      if (refused !== null) return refused;
    } finally {
      await store.close();
    }
    return this.swapIn(position, saved);
  }

  /** Saves the offline events to a permanent file, one per line. */
  private async saveOfflineEvents(
    store: Store,
    { common_position, local_position }: SyncState,
  ): Promise<SavedOfflineEvents> {
    const { events, key } = this.workspace;
    const lines: string[] = [];
    const range = { after: common_position, until_position: local_position };
    for await (const event of eventsUntil({ store, key }, range)) lines.push(`${JSON.stringify(event)}\n`);
    const folder = join(events, OFFLINE_FOLDER);
    const name = `${paddedPosition(common_position + 1)}-${paddedPosition(local_position)}.jsonl`;
    await nodeDisk.makeFolder(folder);
    await writeAtomically(nodeDisk, folder, name, lines.join(''));
    return { file: join(folder, name), size_bytes: await sizeOf(this.logFile) };
  }

  private async rebuildLog(position: number, replica: Replica | null): Promise<SyncRefusal | null> {
    const { events, key: home } = this.workspace;
    const root = join(events, REBUILT_FOLDER);
    await nodeDisk.removeFolder(root);
    const store = await openFileStore({ root, home });
    try {
      return await this.importInto(store, new FolderBlobs(events), position, replica);
    } finally {
      await store.close();
    }
  }

  private async importInto(
    store: Store,
    blobs: Blobs,
    position: number,
    replica: Replica | null,
  ): Promise<SyncRefusal | null> {
    const archive = remoteArchive(this.remote, this.workspace.key, position, replica);
    const imported = await importProject(store, blobs, archive);
    if (!('refused' in imported)) return null;
    const detail = `The log of ${this.remote.name} cannot be imported. ${imported.detail}`;
    return { refused: 'REMOTE_BROKEN', detail };
  }

  /** Replaces the current log with the rebuilt one. */
  private async swapIn(
    position: number,
    saved: SavedOfflineEvents | null,
  ): Promise<PullReport | SyncRefusal> {
    const { onStep } = this.options;
    await onStep('rebuilt');
    const isUnchanged = async () => (await sizeOf(this.logFile)) === (saved?.size_bytes ?? 0);
    if (await swapLog(this.workspace.events, isUnchanged, onStep))
      return { position, received: position, rebuilt: true, aside: saved?.file ?? null };
    const detail = 'The log changed during the pull. Run gen sync pull again.';
    return { refused: 'WRITTEN_MEANWHILE', detail };
  }
}

const notPushedRefusal = ({ common_position, local_position }: SyncState): SyncRefusal => ({
  refused: 'TAIL_NOT_PUSHED',
  detail:
    `The remote does not have all ${local_position - common_position} local events since the last pull. Push them first: ` +
    'gen sync push. To replace them and keep a copy in a file instead: gen sync pull --keep-aside.',
});

const sizeOf = async (path: string): Promise<number> => (await lstat(path).catch(() => null))?.size ?? 0;
