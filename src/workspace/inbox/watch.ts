import { type FSWatcher, watch as watchFolder } from 'node:fs';
import { join } from 'node:path';
import type { PassCounts } from './pass-counts.js';
import { type Serialiser, UndecidedError } from './serialiser.js';

/** The system may miss a change, and some disks tell of none: every inbox is looked into as often as this. */
const SCAN_INTERVAL_MS = 2000;

export interface WatchOptions {
  readonly events: string;
  readonly serialiser: Serialiser;
  /** Aborted: what is being decided is answered, and nothing else begun. */
  readonly signal: AbortSignal;
  readonly warn: (sentence: string) => void;
  readonly onPass?: (tally: PassCounts) => void;
}

/** Serves the inboxes until it is told to stop. */
export async function watchInboxes(options: WatchOptions): Promise<void> {
  const { serialiser, signal, warn } = options;
  const wakeSignal = new WakeSignal(signal);
  const watchers = new FolderWatchers(join(options.events, 'inbox'), () => wakeSignal.notify());
  try {
    while (!signal.aborted) {
      // Watched before it is looked into: what comes in between rings.
      watchers.watch(await serialiser.agents());
      try {
        const counts = await serialiser.pass(signal);
        options.onPass?.(counts);
      } catch (error) {
        if (!(error instanceof UndecidedError)) throw error;
        warn(`${error.message} What lies in the inboxes is kept, and tried again.`);
      }
      await wakeSignal.wait(SCAN_INTERVAL_MS);
    }
  } finally {
    watchers.close();
  }
}

/** Rung any number of times, heard once. */
class WakeSignal {
  private isNotified = false;
  private wake: () => void = () => {};

  constructor(signal: AbortSignal) {
    signal.addEventListener('abort', () => this.notify(), { once: true });
  }

  notify(): void {
    this.isNotified = true;
    this.wake();
  }

  async wait(withinMs: number): Promise<void> {
    if (!this.isNotified) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, withinMs);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.isNotified = false;
  }
}

/** Where nothing can be watched, looking now and then is all there is: nobody needs to be told. */
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
        // A folder that is gone again, or one too many to watch: what lies in it is found by the next look at all of them.
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
