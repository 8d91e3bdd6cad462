import { type FSWatcher, watch as watchFolder } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PassCounts } from './pass-counts.js';
import { type Serialiser, UndecidedError } from './serialiser.js';

/** Interval of full scans: `fs.watch` may miss changes, and some file systems report none. */
const SCAN_INTERVAL_MS = 2000;

export interface WatchOptions {
  readonly eventsFolder: string;
  readonly serialiser: Serialiser;
  /** On abort, the current pass ends after the commands that it has already listed, and no other starts. */
  readonly signal: AbortSignal;
  readonly warn: (sentence: string) => void;
  readonly onPass?: (counts: PassCounts) => void;
}

export async function watchInboxes(options: WatchOptions): Promise<void> {
  const { serialiser, signal, warn } = options;
  // A change aborts this controller. If it happens during a pass, the next pass starts at once.
  let wakeController = new AbortController();
  const wake = () => wakeController.abort();
  signal.addEventListener('abort', wake, { once: true });
  const watchers = new FolderWatchers(join(options.eventsFolder, 'inbox'), wake);
  try {
    while (!signal.aborted) {
      // Watch before scanning: a command that arrives in between triggers the next pass.
      watchers.watch(await serialiser.agents());
      try {
        const counts = await serialiser.pass(signal);
        options.onPass?.(counts);
      } catch (error) {
        if (!(error instanceof UndecidedError)) throw error;
        warn(`${error.message} Commands in the inboxes are kept and retried.`);
      }
      await sleep(SCAN_INTERVAL_MS, undefined, { signal: wakeController.signal }).catch(() => {});
      wakeController = new AbortController();
    }
  } finally {
    watchers.close();
  }
}

/** Watches the inbox folders. Failures are silent, because the periodic scan covers them. */
class FolderWatchers {
  private readonly open = new Map<string, FSWatcher>();

  constructor(
    private readonly inbox: string,
    private readonly onChange: () => void,
  ) {}

  watch(agents: readonly string[]): void {
    const paths = new Set([this.inbox, ...agents.map((agentId) => join(this.inbox, agentId))]);
    for (const path of this.open.keys()) if (!paths.has(path)) this.unwatch(path);
    for (const path of paths) {
      if (this.open.has(path)) continue;
      try {
        const watcher = watchFolder(path, this.onChange);
        watcher.on('error', () => this.unwatch(path));
        this.open.set(path, watcher);
      } catch {
        // The folder was removed, or the watch limit is reached. The periodic scan finds the commands.
      }
    }
  }

  close(): void {
    for (const path of [...this.open.keys()]) this.unwatch(path);
  }

  private unwatch(path: string): void {
    this.open.get(path)?.close();
    this.open.delete(path);
  }
}
