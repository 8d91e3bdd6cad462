import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { CallsOptions } from './endpoint.js';
import { LeaseCell, monotonicMs } from './lease-cell.js';
import { type FromRenewer, type Keep, type Renew, Renewer, type ToRenewer } from './renewer.js';
import type { LeasedClaim } from './replies.js';

/** What an abort signal carries when a claim is lost, or may be. */
export class ClaimLost extends Error {
  constructor(
    readonly task_id: string,
    readonly reason: string,
  ) {
    super(`${task_id}: the claim is lost (${reason})`);
    this.name = 'ClaimLost';
  }
}

const MARGIN = 0.1;
const MARGIN_MS_MAX = 2000;

/** One claim while it is worked on: renewed elsewhere, watched here. */
export class Hold {
  readonly cell = new LeaseCell();
  private readonly losing = new AbortController();
  private readonly margin_ms: number;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly claim: LeasedClaim,
    sent_ms: number,
    private readonly drop: () => void,
  ) {
    const lease_ms = claim.lease_duration_seconds * 1000;
    this.margin_ms = Math.min(lease_ms * MARGIN, MARGIN_MS_MAX);
    this.cell.ends_ms = sent_ms + lease_ms;
    this.watch();
  }

  /** Aborts the moment the claim is lost, or may be. */
  get signal(): AbortSignal {
    return this.losing.signal;
  }

  /** Right even in the middle of a turn that is too long for any signal. */
  held(): boolean {
    return !this.cell.lost && monotonicMs() < this.cell.ends_ms - this.margin_ms;
  }

  lose(reason: string): void {
    this.cell.lose();
    this.end();
    this.losing.abort(new ClaimLost(this.claim.task_id, reason));
  }

  end(): void {
    clearTimeout(this.timer);
    this.drop();
  }

  /** Renewals move the end without a word to this thread: it looks again whenever the end it knew has come. */
  private watch(): void {
    const left_ms = this.cell.ends_ms - this.margin_ms - monotonicMs();
    if (left_ms <= 0) this.lose('LEASE_MAY_BE_OVER');
    else this.timer = setTimeout(() => this.watch(), Math.min(left_ms, 2 ** 31 - 1));
  }
}

/** Keeps the claims of one process. Renews from a thread of its own, or, where there is none, from this one. */
export class Renewals {
  private readonly holds = new Map<number, { hold: Hold; keep: Keep }>();
  private here: Renewer | null = null;
  private thread: Worker | null = null;
  private last_key = 0;

  private constructor(private readonly renew: Renew) {}

  static async start(options: CallsOptions, renew: Renew): Promise<Renewals> {
    const renewals = new Renewals(renew);
    try {
      await renewals.startThread(startWorker(options));
    } catch (error) {
      renewals.renewHere(error);
    }
    return renewals;
  }

  hold(claim: LeasedClaim, sent_ms: number): Hold {
    const key = ++this.last_key;
    const hold: Hold = new Hold(claim, sent_ms, () => this.drop(key));
    if (hold.signal.aborted) return hold;
    const { task_id, session_id, id: claim_id, generation, expires_at } = claim;
    const handle = { task_id, session_id, claim_id, generation };
    const lease_seconds = claim.lease_duration_seconds;
    const keep = { key, handle, lease_seconds, expires_at, cell: hold.cell.memory };
    this.holds.set(key, { hold, keep });
    this.tell({ keep });
    return hold;
  }

  async stop(): Promise<void> {
    for (const { hold } of [...this.holds.values()]) hold.end();
    this.here?.stop();
    const { thread } = this;
    this.thread = null;
    await thread?.terminate();
  }

  private drop(key: number): void {
    if (this.holds.delete(key)) this.tell({ drop: key });
  }

  private tell(word: ToRenewer): void {
    if (this.here === null) this.thread?.postMessage(word);
    else if ('keep' in word) this.here.keep(word.keep);
    else this.here.drop(word.drop);
  }

  private startThread(thread: Worker): Promise<void> {
    this.thread = thread;
    return new Promise((resolve, reject) => {
      thread.on('message', (word: FromRenewer) => {
        if ('ready' in word) resolve();
        else this.holds.get(word.lost)?.hold.lose(word.reason);
      });
      thread.once('error', (error) => {
        reject(error);
        if (this.thread !== null) this.renewHere(error);
      });
      thread.once('exit', () => {
        reject(new Error('it ended'));
        if (this.thread !== null) this.renewHere(new Error('it ended'));
      });
    });
  }

  /** Bundlers leave the thread's file behind: then renewals still happen, as often as this thread lets them. */
  private renewHere(error: unknown): void {
    this.thread = null;
    if (this.here !== null) return;
    const why = error instanceof Error ? error.message : String(error);
    process.emitWarning(
      `Renewals run on the main thread, since their own did not start (${why}). A handler that blocks the event ` +
        'loop for longer than its lease loses its claim. In a bundle, keep genesis-fleet external, or put ' +
        'renewer.worker.js and the files it imports beside the bundle.',
      'GenesisWarning',
    );
    this.here = new Renewer(this.renew, (key, reason) => this.holds.get(key)?.hold.lose(reason));
    for (const { keep } of this.holds.values()) this.here.keep(keep);
  }
}

function startWorker(workerData: CallsOptions): Worker {
  const isSource = import.meta.url.endsWith('.ts');
  if (!isSource) return new Worker(new URL('./renewer.worker.js', import.meta.url), { workerData });
  // From source, where a thread does not inherit what makes the main one read TypeScript.
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx/esm'));
  const [reader, file] = [new URL('./api/index.mjs', tsx), new URL('./renewer.worker.ts', import.meta.url)];
  const script = `import('${reader}').then((tsx) => { tsx.register(); return import('${file}'); })`;
  return new Worker(script, { eval: true, execArgv: [], workerData });
}
