import { setMaxListeners } from 'node:events';
import { isDone } from '../core/views/index.js';
import type { Environment } from './environment.js';
import { isSessionClosed } from './facts.js';
import type { Project } from './project.js';
import { nextDeadlineMs, readyByTrack } from './ready.js';

/** A look at the plan is followed by a rest so many times as long: most of the time is left for commands. */
const REST_PER_LOOK = 4;

interface Waiting {
  readonly session_id: string;
  readonly track: string | undefined;
  /** The change up to which it knows that there is nothing for it. */
  seen: number;
  readonly call: () => void;
}

/** Who stands in line, for what, and for how long. */
export interface Place extends Pick<Waiting, 'session_id' | 'track' | 'seen'> {
  readonly left_ms: number;
  readonly gone: AbortSignal | undefined;
}

/**
 * Those who wait for work in a project. A piece that is ready calls one of them, and only when that one could not take
 * it the next: if every change called all of them, a thousand who wait would be all that is done. Who came last is
 * called first: who has waited long may be gone, and work granted to nobody lies there for a whole lease.
 */
export class WorkLine {
  private readonly waiting = new Set<Waiting>();
  /** Called, and not answered yet. */
  private asking = 0;
  /** Leases and pauses that have run out: a change that nobody made. */
  private ripened = 0;
  private rest_until_ms = 0;
  private isSurveying = false;
  private cancelTimer: () => void = () => {};
  private stopListening: () => void = () => {};

  constructor(
    private readonly project: Project,
    private readonly environment: Environment,
  ) {}

  /** Counts what may have changed. Whoever asks reads it before, and waits from there. */
  get changes(): number {
    return this.project.moved.count + this.ripened;
  }

  /** Resolves with true when it is called, which it answers for with `answered`; with false when its time is up. */
  wait({ session_id, track, seen, left_ms, gone }: Place): Promise<boolean> {
    if (gone?.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const leave = (called: boolean): void => {
        cancel();
        gone?.removeEventListener('abort', giveUp);
        this.waiting.delete(waiting);
        if (this.waiting.size === 0) this.rest();
        resolve(called);
      };
      const giveUp = (): void => leave(false);
      const waiting = { session_id, track, seen, call: () => leave(true) };
      const cancel = this.environment.setTimer(left_ms, giveUp);
      // An embedder may end all its waiting calls with one signal; Node warns of a leak from the eleventh on.
      if (gone !== undefined) setMaxListeners(0, gone);
      gone?.addEventListener('abort', giveUp, { once: true });
      this.waiting.add(waiting);
      if (this.waiting.size === 1) this.listen();
      this.look();
    });
  }

  /** One who was called has asked: what it left is for the next. */
  answered(): void {
    this.asking -= 1;
    this.look();
  }

  private listen(): void {
    this.stopListening = this.project.moved.once(() => {
      this.listen();
      this.look();
    });
  }

  private rest(): void {
    this.stopListening();
    this.cancelTimer();
  }

  private look(): void {
    if (this.waiting.size === 0) return;
    const began_ms = this.environment.clock.monotonicMs();
    if (began_ms < this.rest_until_ms) {
      this.lookAfter(this.rest_until_ms - began_ms, 0);
      return;
    }
    this.callNext();
    if (this.waiting.size === 0) return;
    this.surveyAgain();
    const desk = this.project.desk();
    this.lookAfter(Math.max(nextDeadlineMs(desk) - desk.now_ms, 1), 1);
    const ended_ms = this.environment.clock.monotonicMs();
    this.rest_until_ms = ended_ms + (ended_ms - began_ms) * REST_PER_LOOK;
  }

  /** What a change of the plan made ready is in no list before the work has been surveyed again. */
  private surveyAgain(): void {
    const { frontier, plan } = this.project.state;
    if (this.isSurveying || frontier.surveyed === frontier.version(plan)) return;
    this.isSurveying = true;
    const ended = (found: number): void => {
      this.isSurveying = false;
      this.ripened += found;
      if (found > 0) this.look();
    };
    // Where it fails, the next who asks for work is told so.
    this.project.survey().then(
      () => ended(1),
      () => ended(0),
    );
  }

  private lookAfter(wait_ms: number, ripens: number): void {
    this.cancelTimer();
    if (wait_ms === Number.POSITIVE_INFINITY) return;
    this.cancelTimer = this.environment.setTimer(wait_ms, () => {
      this.ripened += ripens;
      this.look();
    });
  }

  private callNext(): void {
    const { changes } = this;
    const unaware = [...this.waiting].reverse().filter(({ seen }) => seen < changes);
    // Whoever waits would wait for a new plan, and can ask again.
    if (isDone(this.project.state)) for (const waiting of unaware.splice(0)) this.call(waiting);
    if (unaware.length === 0) return;
    const desk = this.project.desk();
    const ready = readyByTrack(desk, unaware.length + this.asking);
    let left = -this.asking;
    for (const count of ready.values()) left += count;
    for (const waiting of unaware) {
      const { track, session_id } = waiting;
      // It takes no work from anybody, and should hear of it now.
      if (isSessionClosed(desk, session_id)) {
        this.call(waiting);
        continue;
      }
      const here = track === undefined ? left : Math.min(left, ready.get(track) ?? 0);
      if (here > 0) {
        if (track !== undefined) ready.set(track, here - 1);
        left -= 1;
        this.call(waiting);
      } else if (this.asking === 0) waiting.seen = changes;
    }
  }

  private call(waiting: Waiting): void {
    this.asking += 1;
    waiting.call();
  }
}
