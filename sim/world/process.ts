import type { Environment } from '../../src/coordinator/index.js';
import type { ProcessClock } from '../../src/stores/clock.js';
import type { Rng } from './rng.js';
import { WORLD_EPOCH_MS, type World } from './world.js';

/** A busy process comes to its timers late, some more than others. */
const TIMER_LATENESS = { min: 2, max: 12 };
/** How far a good quartz is off. */
const DRIFT_MAX = 0.0001;

/**
 * A process of the simulated world: its own clock, its own life. What it waits for reaches it only while it lives;
 * while it is frozen everything waits for it.
 */
export class Process {
  private alive = true;
  private frozen_until_ms = 0;
  private wall_offset_ms: number;
  private readonly drift: number;
  private readonly timer_lateness: number;
  private readonly onDeath: (() => void)[] = [];
  readonly clock: ProcessClock;

  constructor(
    readonly world: World,
    readonly name: string,
    private readonly rng: Rng,
    /** Its clocks move in leaps of this; 0: they do not. */
    tick_ms = 0,
  ) {
    this.drift = 1 + rng.between(-DRIFT_MAX, DRIFT_MAX);
    this.wall_offset_ms = rng.between(-500, 500);
    this.timer_lateness = rng.between(TIMER_LATENESS.min, TIMER_LATENESS.max);
    const passedMs = (): number => {
      const passed_ms = world.now_ms * this.drift;
      return tick_ms === 0 ? passed_ms : Math.floor(passed_ms / tick_ms) * tick_ms;
    };
    this.clock = {
      monotonicMs: () => 1000 + passedMs(),
      wallMs: () => WORLD_EPOCH_MS + passedMs() + this.wall_offset_ms,
    };
  }

  get isAlive(): boolean {
    return this.alive;
  }

  get isFrozen(): boolean {
    return this.world.now_ms < this.frozen_until_ms;
  }

  /** Runs `task` in this process after so long, unless the process is dead by then. */
  after(after_ms: number, label: string, task: () => void): () => void {
    let cancel = this.world.schedule(after_ms, `${this.name} ${label}`, () => {
      if (!this.alive) return;
      if (!this.isFrozen) return task();
      cancel = this.after(this.frozen_until_ms - this.world.now_ms, label, task);
    });
    return () => cancel();
  }

  sleep(after_ms: number, label: string): Promise<void> {
    return new Promise((resolve) => {
      this.after(after_ms, label, resolve);
    });
  }

  /** Nothing it was about to do will happen, and nobody will answer it. */
  kill(): void {
    if (!this.alive) return;
    this.alive = false;
    this.world.trace(`${this.name} dies`);
    for (const tell of this.onDeath) tell();
  }

  whenDead(tell: () => void): void {
    this.onDeath.push(tell);
  }

  freeze(for_ms: number): void {
    this.world.trace(`${this.name} is frozen for ${Math.round(for_ms)} ms`);
    this.frozen_until_ms = Math.max(this.frozen_until_ms, this.world.now_ms + for_ms);
  }

  stepWallClock(by_ms: number): void {
    this.world.trace(`${this.name} has its wall clock stepped by ${Math.round(by_ms)} ms`);
    this.wall_offset_ms += by_ms;
  }

  environment(): Environment {
    const random = this.rng.fork('bytes');
    return {
      clock: this.clock,
      randomBytes: (count) => random.bytes(count),
      setTimer: (after_ms, task) => this.after(after_ms * this.timer_lateness, 'timer', task),
      breathe: () => this.sleep(0, 'breathes'),
    };
  }
}
