import { setMaxListeners } from 'node:events';
import { isDone } from '../core/views/index.js';
import type { Environment } from './environment.js';
import { isSessionClosed } from './facts.js';
import type { Project } from './project.js';
import { nextDeadlineMs, readyByTrack } from './ready.js';

/** A look at the plan is followed by a rest so many times as long: most of the time is left for commands. */
const PAUSE_PER_SCAN = 4;

interface Waiter {
  readonly session_id: string;
  readonly track: string | undefined;
  /** The change up to which it knows that there is nothing for it. */
  seen: number;
  readonly wake: () => void;
}

/** Who stands in line, for what, and for how long. */
export interface WaitTicket extends Pick<Waiter, 'session_id' | 'track' | 'seen'> {
  readonly remainingMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Those who wait for work in a project. A piece that is ready calls one of them, and only when that one could not take
 * it the next: if every change called all of them, a thousand who wait would be all that is done. Who came last is
 * called first: who has waited long may be gone, and work granted to nobody lies there for a whole lease.
 */
export class WaitQueue {
  private readonly waiters = new Set<Waiter>();
  /** Called, and not answered yet. */
  private wokenCount = 0;
  /** Leases and pauses that have run out: a change that nobody made. */
  private dueTimers = 0;
  private pauseUntilMs = 0;
  private isSurveying = false;
  private cancelTimer: () => void = () => {};
  private stopListening: () => void = () => {};

  constructor(
    private readonly project: Project,
    private readonly environment: Environment,
  ) {}

  /** Counts what may have changed. Whoever asks reads it before, and waits from there. */
  get changes(): number {
    return this.project.changeNotifier.count + this.dueTimers;
  }

  /** Resolves with true when it is called, which it answers for with `answered`; with false when its time is up. */
  wait({ session_id, track, seen, remainingMs, signal }: WaitTicket): Promise<boolean> {
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
      const waiter = { session_id, track, seen, wake: () => settle(true) };
      const cancel = this.environment.setTimer(remainingMs, giveUp);
      // An embedder may end all its waiting calls with one signal; Node warns of a leak from the eleventh on.
      if (signal !== undefined) setMaxListeners(0, signal);
      signal?.addEventListener('abort', giveUp, { once: true });
      this.waiters.add(waiter);
      if (this.waiters.size === 1) this.listenForChanges();
      this.scan();
    });
  }

  /** One who was called has asked: what it left is for the next. */
  acknowledge(): void {
    this.wokenCount -= 1;
    this.scan();
  }

  private listenForChanges(): void {
    this.stopListening = this.project.changeNotifier.once(() => {
      this.listenForChanges();
      this.scan();
    });
  }

  private stopScanning(): void {
    this.stopListening();
    this.cancelTimer();
  }

  private scan(): void {
    if (this.waiters.size === 0) return;
    const beganMs = this.environment.clock.monotonicMs();
    if (beganMs < this.pauseUntilMs) {
      this.scanAfter(this.pauseUntilMs - beganMs, 0);
      return;
    }
    this.wakeReady();
    if (this.waiters.size === 0) return;
    this.resurveyFrontier();
    const view = this.project.view();
    this.scanAfter(Math.max(nextDeadlineMs(view) - view.now_ms, 1), 1);
    const endedMs = this.environment.clock.monotonicMs();
    this.pauseUntilMs = endedMs + (endedMs - beganMs) * PAUSE_PER_SCAN;
  }

  /** What a change of the plan made ready is in no list before the work has been surveyed again. */
  private resurveyFrontier(): void {
    const { frontier, plan } = this.project.state;
    if (this.isSurveying || frontier.rebuiltVersion === frontier.currentVersion(plan)) return;
    this.isSurveying = true;
    const ended = (dueCount: number): void => {
      this.isSurveying = false;
      this.dueTimers += dueCount;
      if (dueCount > 0) this.scan();
    };
    // Where it fails, the next who asks for work is told so.
    this.project.surveyFrontier().then(
      () => ended(1),
      () => ended(0),
    );
  }

  private scanAfter(waitMs: number, dueCount: number): void {
    this.cancelTimer();
    if (waitMs === Number.POSITIVE_INFINITY) return;
    this.cancelTimer = this.environment.setTimer(waitMs, () => {
      this.dueTimers += dueCount;
      this.scan();
    });
  }

  private wakeReady(): void {
    const { changes } = this;
    const candidates = [...this.waiters].reverse().filter(({ seen }) => seen < changes);
    // Whoever waits would wait for a new plan, and can ask again.
    if (isDone(this.project.state)) for (const waiter of candidates.splice(0)) this.wakeWaiter(waiter);
    if (candidates.length === 0) return;
    const view = this.project.view();
    const ready = readyByTrack(view, candidates.length + this.wokenCount);
    let remaining = -this.wokenCount;
    for (const count of ready.values()) remaining += count;
    for (const waiter of candidates) {
      const { track, session_id } = waiter;
      // It takes no work from anybody, and should hear of it now.
      if (isSessionClosed(view, session_id)) {
        this.wakeWaiter(waiter);
        continue;
      }
      const available = track === undefined ? remaining : Math.min(remaining, ready.get(track) ?? 0);
      if (available > 0) {
        if (track !== undefined) ready.set(track, available - 1);
        remaining -= 1;
        this.wakeWaiter(waiter);
      } else if (this.wokenCount === 0) waiter.seen = changes;
    }
  }

  private wakeWaiter(waiter: Waiter): void {
    this.wokenCount += 1;
    waiter.wake();
  }
}
