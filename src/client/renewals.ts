import type { Worker } from 'node:worker_threads';
import type { ApiClientOptions } from './endpoint.js';
import {
  handleOf,
  type LeaseToRenew,
  Renewer,
  type RenewerCommand,
  type RenewerMessage,
  type SendRenewal,
} from './renewer.js';
import { startRenewerThread } from './renewer-thread.js';
import { type GrantedClaim, hasLease } from './replies.js';
import { monotonicMs, SharedLeaseEnd } from './shared-lease-end.js';

/** The abort reason when a claim is lost or may be lost. */
export class ClaimLost extends Error {
  constructor(
    readonly task_id: string,
    readonly reason: string,
  ) {
    super(`${task_id}: the claim is lost (${reason})`);
    this.name = 'ClaimLost';
  }
}

const SAFETY_MARGIN_RATIO = 0.1;
const SAFETY_MARGIN_MS_MAX = 2000;

/** Watches one claim while it is worked on. A renewer, usually in another thread, renews it. */
export class LeaseMonitor {
  readonly leaseEnd = new SharedLeaseEnd();
  private readonly lossController = new AbortController();
  /** Null for a claim without a lease, which does not expire. */
  private readonly marginMs: number | null = null;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly claim: GrantedClaim,
    sentMs: number,
    private readonly stopRenewing: () => void,
  ) {
    if (!hasLease(claim)) return;
    const leaseMs = claim.lease_duration_seconds * 1000;
    this.marginMs = Math.min(leaseMs * SAFETY_MARGIN_RATIO, SAFETY_MARGIN_MS_MAX);
    this.leaseEnd.endsAtMs = sentMs + leaseMs;
    this.scheduleCheck(this.marginMs);
  }

  /** Aborts when the claim is lost or may be lost. */
  get signal(): AbortSignal {
    return this.lossController.signal;
  }

  /**
   * Whether the lease certainly lasts now and no loss is known. Correct even within a long synchronous turn, in which no
   * signal fires.
   */
  isHeld(): boolean {
    if (this.leaseEnd.isLost) return false;
    return this.marginMs === null || monotonicMs() < this.leaseEnd.endsAtMs - this.marginMs;
  }

  markLost(reason: string): void {
    this.leaseEnd.markLost();
    this.stop();
    this.lossController.abort(new ClaimLost(this.claim.task_id, reason));
  }

  stop(): void {
    clearTimeout(this.timer);
    this.stopRenewing();
  }

  /** Renewals extend the lease without notifying this thread, so it checks again when the known end has come. */
  private scheduleCheck(marginMs: number): void {
    const leftMs = this.leaseEnd.endsAtMs - marginMs - monotonicMs();
    if (leftMs <= 0) this.markLost('LEASE_MAY_BE_OVER');
    else this.timer = setTimeout(() => this.scheduleCheck(marginMs), Math.min(leftMs, 2 ** 31 - 1));
  }
}

/** Renews the claims of one process: in a separate thread or, if that thread does not run, on the main thread. */
export class LeaseRenewals {
  private readonly monitors = new Map<number, { monitor: LeaseMonitor; lease: LeaseToRenew }>();
  private localRenewer: Renewer | null = null;
  private thread: Worker | null = null;
  private lastKey = 0;

  private constructor(private readonly renew: SendRenewal) {}

  static async start(options: ApiClientOptions, renew: SendRenewal): Promise<LeaseRenewals> {
    const renewals = new LeaseRenewals(renew);
    try {
      // An app in this process cannot be called from another thread.
      if (options.fetch !== undefined) renewals.startRenewer();
      else await renewals.startThread(startRenewerThread(options));
    } catch (error) {
      renewals.renewOnMainThread(error);
    }
    return renewals;
  }

  monitor(claim: GrantedClaim, sentMs: number): LeaseMonitor {
    const key = ++this.lastKey;
    const monitor: LeaseMonitor = new LeaseMonitor(claim, sentMs, () => this.stopRenewing(key));
    if (monitor.signal.aborted || !hasLease(claim)) return monitor;
    const { lease_duration_seconds: lease_seconds, expires_at } = claim;
    const lease = {
      key,
      handle: handleOf(claim),
      lease_seconds,
      expires_at,
      lease_end_buffer: monitor.leaseEnd.buffer,
    };
    this.monitors.set(key, { monitor, lease });
    this.post({ start: lease });
    return monitor;
  }

  async stop(): Promise<void> {
    for (const { monitor } of [...this.monitors.values()]) monitor.stop();
    this.localRenewer?.stop();
    const { thread } = this;
    this.thread = null;
    await thread?.terminate();
  }

  private stopRenewing(key: number): void {
    if (this.monitors.delete(key)) this.post({ stop: key });
  }

  private post(message: RenewerCommand): void {
    if (this.localRenewer === null) this.thread?.postMessage(message);
    else this.localRenewer.execute(message);
  }

  private startThread(thread: Worker): Promise<void> {
    this.thread = thread;
    return new Promise((resolve, reject) => {
      thread.on('message', (message: RenewerMessage) => {
        if ('ready' in message) resolve();
        else this.monitors.get(message.lost)?.monitor.markLost(message.reason);
      });
      const fail = (error: unknown) => {
        reject(error);
        if (this.thread !== null) this.renewOnMainThread(error);
      };
      thread.once('error', fail);
      thread.once('exit', () => fail(new Error('the thread ended')));
    });
  }

  /**
   * Fallback if the thread does not start, for example in a bundle without its file, or if it ends. Renewals then depend on
   * the main thread not blocking.
   */
  private renewOnMainThread(error: unknown): void {
    this.thread = null;
    if (this.localRenewer !== null) return;
    const why = error instanceof Error ? error.message : String(error);
    process.emitWarning(
      `Renewals run on the main thread: the renewal thread is not running (${why}). A handler that blocks ` +
        'the event loop for longer than its lease loses its claim. In a bundle, keep genesis-fleet external, ' +
        'or put renewer.worker.js and the files it imports next to the bundle.',
      'GenesisWarning',
    );
    this.startRenewer();
  }

  private startRenewer(): void {
    const renewer = new Renewer(this.renew, (key, reason) =>
      this.monitors.get(key)?.monitor.markLost(reason),
    );
    this.localRenewer = renewer;
    for (const { lease } of this.monitors.values()) renewer.execute({ start: lease });
  }
}
