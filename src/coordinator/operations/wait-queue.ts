import { setMaxListeners } from 'node:events';
import { isPlanComplete } from '../../core/views/index.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Project } from '../queue/project.js';
import type { Environment } from '../runtime/environment.js';
import { isSessionClosed } from './facts.js';
import { nextDeadlineMs, readyByTrack } from './ready.js';

/** The pause after a scan is this many times as long as the scan, so that most of the time is left for commands. */
const PAUSE_PER_SCAN = 4;

interface Waiter {
  readonly session_id: string;
  readonly track: string | undefined;
  /** Whether edges count as work, in a project that has some. */
  readonly wantsEdges: boolean;
  /** The number of changes so far when there was last found to be no work for this waiter. */
  examinedChanges: number;
  readonly wake: () => void;
}

/** The moment before a caller requested work. Every later change may bring work for the caller. */
interface WaitStart {
  readonly changes: number;
  readonly now_ms: number;
}

/** A request to wait: for which session and track, and for how long. */
export interface WaitTicket extends Pick<Waiter, 'session_id' | 'track' | 'wantsEdges'> {
  readonly start: WaitStart;
  readonly remainingMs: number;
  /** Ends the wait: the client disconnected, the server stops, or the credential became invalid. */
  readonly signal: AbortSignal | undefined;
}

/**
 * The callers waiting for work in a project. A ready task wakes one waiter, and another only if the first could not claim
 * the task: waking many waiters on every change would leave no time for commands. The most recent waiter is woken first,
 * because a client that has waited long may be gone, and its work would be unavailable for a whole lease.
 */
export class WaitQueue {
  private readonly waiters = new Set<Waiter>();
  /** Waiters that were woken and have not acknowledged yet. */
  private wokenCount = 0;
  /** Counts changes without an event: expired leases, ended retry pauses, a rebuilt frontier. */
  private silentChanges = 0;
  /** When the next lease or retry pause ends, in the store's time. */
  private nextDeadlineMs = Number.POSITIVE_INFINITY;
  private pauseUntilMs = 0;
  private isRebuilding = false;
  private cancelTimer: () => void = () => {};
  private stopListening: () => void = () => {};

  constructor(
    private readonly project: Project,
    private readonly environment: Environment,
  ) {}

  /** Call this before requesting work, and pass the result to `wait`. */
  start(): WaitStart {
    return { changes: this.changes, now_ms: this.project.view().now_ms };
  }

  private get changes(): number {
    return this.project.changeNotifier.count + this.silentChanges;
  }

  /** Resolves with true when woken, which the caller must `acknowledge`; with false at the time limit or by the signal. */
  wait({ session_id, track, wantsEdges, start, remainingMs, signal }: WaitTicket): Promise<boolean> {
    if (signal?.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const settle = (wasWoken: boolean): void => {
        cancel();
        signal?.removeEventListener('abort', giveUp);
        this.waiters.delete(waiter);
        if (this.waiters.size === 0) this.stopScanning();
        resolve(wasWoken);
      };
      const giveUp = (): void => settle(false);
      const waiter = {
        session_id,
        track,
        wantsEdges,
        examinedChanges: start.changes,
        wake: () => settle(true),
      };
      const cancel = this.environment.setTimer(remainingMs, giveUp);
      // An embedder may end all its waits with one signal; Node warns of a leak from the eleventh listener on.
      if (signal !== undefined) setMaxListeners(0, signal);
      signal?.addEventListener('abort', giveUp, { once: true });
      this.waiters.add(waiter);
      if (this.waiters.size === 1) {
        this.nextDeadlineMs = nextDeadlineMs(this.project.view(), start.now_ms);
        this.stopListening = this.project.changeNotifier.on(() => this.scan());
      }
      this.scan();
    });
  }

  /** Call this when a woken waiter has made its request: work that is left goes to the next waiter. */
  acknowledge(): void {
    this.wokenCount -= 1;
    this.scan();
  }

  private stopScanning(): void {
    this.stopListening();
    this.cancelTimer();
  }

  private scan(): void {
    if (this.waiters.size === 0) return;
    const startMs = this.environment.clock.monotonicMs();
    if (startMs < this.pauseUntilMs) {
      this.scanAfter(this.pauseUntilMs - startMs);
      return;
    }
    // The whole scan uses one view, and so one time. Leases and retry pauses that end later are left to the next scan.
    const view = this.project.view();
    if (view.now_ms >= this.nextDeadlineMs) this.silentChanges += 1;
    this.nextDeadlineMs = nextDeadlineMs(view, view.now_ms);
    this.wakeReady(view);
    if (this.waiters.size === 0) return;
    this.rebuildFrontier();
    this.scanAfter(Math.max(this.nextDeadlineMs - view.now_ms, 1));
    const endedMs = this.environment.clock.monotonicMs();
    this.pauseUntilMs = endedMs + (endedMs - startMs) * PAUSE_PER_SCAN;
  }

  /** Work that a plan change made ready is in no list until the frontier is rebuilt. */
  private rebuildFrontier(): void {
    const { frontier, plan } = this.project.state;
    if (this.isRebuilding || frontier.rebuiltVersion === frontier.currentVersion(plan)) return;
    this.isRebuilding = true;
    this.project
      .rebuildFrontier()
      .finally(() => {
        this.isRebuilding = false;
      })
      .then(
        () => {
          this.silentChanges += 1;
          this.scan();
        },
        // The next request for work reports the error.
        () => {},
      );
  }

  private scanAfter(waitMs: number): void {
    this.cancelTimer();
    if (waitMs === Number.POSITIVE_INFINITY) return;
    this.cancelTimer = this.environment.setTimer(waitMs, () => this.scan());
  }

  private wakeReady(view: DecisionView): void {
    const { changes } = this;
    const unexamined = [...this.waiters].reverse().filter(({ examinedChanges }) => examinedChanges < changes);
    const isPlanDone = isPlanComplete(this.project.state);
    if (unexamined.length === 0) return;
    const ready = readyByTrack(view, unexamined.length + this.wokenCount);
    let remaining = -this.wokenCount;
    for (const count of ready.values()) remaining += count;
    for (const waiter of unexamined) {
      const { track, session_id } = waiter;
      const canFindEdge = waiter.wantsEdges && view.methodology !== null;
      // These waiters take no work from others. They return now, because their session is closed or the plan is done.
      if (isSessionClosed(view, session_id) || (isPlanDone && !canFindEdge)) {
        this.wakeWaiter(waiter);
        continue;
      }
      const available = track === undefined ? remaining : Math.min(remaining, ready.get(track) ?? 0);
      if (available > 0) {
        if (track !== undefined) ready.set(track, available - 1);
        remaining -= 1;
        this.wakeWaiter(waiter);
      } else if (this.wokenCount === 0) {
        // Whether an edge is ready is known only when it is requested, so these waiters try one after the other.
        if (canFindEdge) this.wakeWaiter(waiter);
        else waiter.examinedChanges = changes;
      }
    }
  }

  private wakeWaiter(waiter: Waiter): void {
    this.wokenCount += 1;
    waiter.wake();
  }
}
