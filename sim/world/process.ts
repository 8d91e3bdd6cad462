import type { Environment } from '../../src/coordinator/index.js';
import type { ProcessClock } from '../../src/stores/clock.js';
import type { Rng } from './rng.js';
import { type SimWorld, WORLD_EPOCH_MS } from './world.js';

/** A busy process runs its timers late: each delay is multiplied by a factor that differs per process. */
const TIMER_LATENESS = { min: 2, max: 12 };
/** Drift of a good quartz clock. */
const DRIFT_MAX = 0.0001;

/**
 * A process of the simulated world, with its own clock and lifetime. Callbacks run only while it is alive; while it is
 * frozen they are postponed.
 */
export class SimProcess {
  private alive = true;
  private frozenUntilMs = 0;
  private wallOffsetMs: number;
  private readonly drift: number;
  private readonly timerLateness: number;
  private readonly killListeners: (() => void)[] = [];
  readonly clock: ProcessClock;

  constructor(
    readonly world: SimWorld,
    readonly name: string,
    private readonly rng: Rng,
    /** Resolution of its clocks; 0: continuous. */
    tickMs = 0,
  ) {
    this.drift = 1 + rng.between(-DRIFT_MAX, DRIFT_MAX);
    this.wallOffsetMs = rng.between(-500, 500);
    this.timerLateness = rng.between(TIMER_LATENESS.min, TIMER_LATENESS.max);
    const elapsedMs = (): number => {
      const exactMs = world.now_ms * this.drift;
      return tickMs === 0 ? exactMs : Math.floor(exactMs / tickMs) * tickMs;
    };
    this.clock = {
      monotonicMs: () => 1000 + elapsedMs(),
      wallMs: () => WORLD_EPOCH_MS + elapsedMs() + this.wallOffsetMs,
    };
  }

  get isAlive(): boolean {
    return this.alive;
  }

  get isFrozen(): boolean {
    return this.world.now_ms < this.frozenUntilMs;
  }

  /** Runs `task` in this process after a delay, unless the process is dead by then. */
  runAfter(afterMs: number, label: string, task: () => void): () => void {
    let cancel = this.world.schedule(afterMs, `${this.name} ${label}`, () => {
      if (!this.alive) return;
      if (!this.isFrozen) return task();
      cancel = this.runAfter(this.frozenUntilMs - this.world.now_ms, label, task);
    });
    return () => cancel();
  }

  sleep(afterMs: number, label: string): Promise<void> {
    return new Promise((resolve) => {
      this.runAfter(afterMs, label, resolve);
    });
  }

  /** Ends the process: none of its pending tasks will run, and no reply will reach it. */
  kill(): void {
    if (!this.alive) return;
    this.alive = false;
    this.world.trace(`${this.name} dies`);
    for (const listener of this.killListeners) listener();
  }

  onKilled(listener: () => void): void {
    this.killListeners.push(listener);
  }

  freeze(durationMs: number): void {
    this.world.trace(`${this.name} is frozen for ${Math.round(durationMs)} ms`);
    this.frozenUntilMs = Math.max(this.frozenUntilMs, this.world.now_ms + durationMs);
  }

  stepWallClock(byMs: number): void {
    this.world.trace(`${this.name} has its wall clock stepped by ${Math.round(byMs)} ms`);
    this.wallOffsetMs += byMs;
  }

  environment(): Environment {
    const random = this.rng.fork('bytes');
    return {
      clock: this.clock,
      randomBytes: (count) => random.bytes(count),
      setTimer: (afterMs, task) => this.runAfter(afterMs * this.timerLateness, 'timer', task),
      yieldToEventLoop: () => this.sleep(0, 'breathes'),
    };
  }
}
