import { type FSWatcher, watch as watchFolder } from 'node:fs';
import { join } from 'node:path';
import { type Serialiser, Undecided } from './serialiser.js';
import type { Tally } from './tally.js';

/** The system may miss a change, and some disks tell of none: every inbox is looked into as often as this. */
const LOOK_EVERY_MS = 2000;

export interface WatchOptions {
  readonly events: string;
  readonly serialiser: Serialiser;
  /** Aborted: what is being decided is answered, and nothing else begun. */
  readonly signal: AbortSignal;
  readonly warn: (sentence: string) => void;
  readonly onPass?: (tally: Tally) => void;
}

/** Serves the inboxes until it is told to stop. */
export async function watchInboxes(options: WatchOptions): Promise<void> {
  const { serialiser, signal, warn } = options;
  const bell = new Bell(signal);
  const watchers = new Watchers(join(options.events, 'inbox'), () => bell.ring());
  try {
    while (!signal.aborted) {
      // Watched before it is looked into: what comes in between rings.
      watchers.watch(await serialiser.agents());
      try {
        const tally = await serialiser.pass(signal);
        options.onPass?.(tally);
      } catch (error) {
        if (!(error instanceof Undecided)) throw error;
        warn(`${error.message} What lies in the inboxes is kept, and tried again.`);
      }
      await bell.heard(LOOK_EVERY_MS);
    }
  } finally {
    watchers.close();
  }
}

/** Rung any number of times, heard once. */
class Bell {
  private rung = false;
  private wake: () => void = () => {};

  constructor(signal: AbortSignal) {
    signal.addEventListener('abort', () => this.ring(), { once: true });
  }

  ring(): void {
    this.rung = true;
    this.wake();
  }

  async heard(within_ms: number): Promise<void> {
    if (!this.rung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, within_ms);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.rung = false;
  }
}

/** Where nothing can be watched, looking now and then is all there is: nobody needs to be told. */
class Watchers {
  private readonly open = new Map<string, FSWatcher>();

  constructor(
    private readonly inbox: string,
    private readonly onChange: () => void,
  ) {}

  watch(agents: readonly string[]): void {
    const wanted = new Set([this.inbox, ...agents.map((agent_id) => join(this.inbox, agent_id))]);
    for (const path of this.open.keys()) if (!wanted.has(path)) this.forget(path);
    for (const path of wanted) {
      if (this.open.has(path)) continue;
      try {
        const watcher = watchFolder(path, this.onChange);
        watcher.on('error', () => this.forget(path));
        this.open.set(path, watcher);
      } catch {
        // A folder that is gone again, or one too many to watch: what lies in it is found by the next look at all of them.
      }
    }
  }

  close(): void {
    for (const path of [...this.open.keys()]) this.forget(path);
  }

  private forget(path: string): void {
    this.open.get(path)?.close();
    this.open.delete(path);
  }
}
