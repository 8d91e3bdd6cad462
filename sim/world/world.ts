import { createHash } from 'node:crypto';
import { EventQueue } from './queue.js';
import { Rng } from './rng.js';
import { inOwnTurn, settle } from './traps.js';

/** Something that must never be. The run stops at the first. */
export class ViolationError extends Error {
  override readonly name = 'ViolationError';
}

/** Digesting line by line would cost more than much of what is digested. */
const LINES_PER_DIGEST = 512;

export const WORLD_EPOCH_MS = Date.UTC(2026, 0, 1);

/**
 * The one place where things happen: a queue of events in virtual time. One event is run at a time, and everything
 * that follows from it is run to its end before the next, so that a seed always tells the same story.
 */
export class World {
  readonly rng: Rng;
  /** True time, which nobody inside can see: milliseconds since the start. */
  now_ms = 0;
  steps = 0;
  private readonly queue = new EventQueue();
  private sequence = 0;
  private readonly digest = createHash('sha256');
  private untold = '';
  /** When each untold line was. */
  private readonly times = new Float64Array(LINES_PER_DIGEST);
  private lines = 0;
  private failure: ViolationError | null = null;

  constructor(
    seed: number,
    private readonly onTrace: ((line: string) => void) | null = null,
  ) {
    this.rng = new Rng(`seed ${seed}`);
  }

  /** Runs `task` after so long. Returns a way to call it off. */
  schedule(after_ms: number, label: string, task: () => void): () => void {
    let off = false;
    this.sequence += 1;
    this.queue.push({
      at_ms: this.now_ms + Math.max(after_ms, 0),
      sequence: this.sequence,
      label,
      task: () => {
        if (!off) task();
      },
    });
    return () => {
      off = true;
    };
  }

  /** One line of the story; the lines of two runs of one seed are equal to the last byte. */
  trace(line: string): void {
    this.tell(line);
    this.onTrace?.(`${(this.now_ms / 1000).toFixed(3).padStart(10)}s  ${line}`);
  }

  /** Records the first violation; the run ends with the step in hand. */
  violate(invariant: string, says: string): void {
    this.trace(`VIOLATION ${invariant}: ${says}`);
    this.failure ??= new ViolationError(`${invariant}: ${says}`);
  }

  get violated(): boolean {
    return this.failure !== null;
  }

  /** Runs events until `done`, until time is up, or until nothing is left to happen. */
  run(until_ms: number, done: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      inOwnTurn(() => {
        try {
          resolve(this.runNow(until_ms, done));
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  private runNow(until_ms: number, done: () => boolean): void {
    while (!done()) {
      if (this.failure !== null) throw this.failure;
      const event = this.queue.pop();
      if (event === undefined) return;
      if (event.at_ms > until_ms) {
        this.queue.push(event);
        this.now_ms = until_ms;
        return;
      }
      this.now_ms = event.at_ms;
      this.steps += 1;
      this.tell(event.label);
      event.task();
      settle();
    }
    if (this.failure !== null) throw this.failure;
  }

  /** The digest of the story so far. Ends the story. */
  fingerprint(): string {
    this.digestUntold();
    return this.digest.digest('hex');
  }

  private tell(line: string): void {
    this.times[this.lines] = this.now_ms;
    this.lines += 1;
    this.untold += `${line}\n`;
    if (this.lines === LINES_PER_DIGEST) this.digestUntold();
  }

  private digestUntold(): void {
    this.digest.update(this.untold).update(this.times.subarray(0, this.lines));
    this.untold = '';
    this.lines = 0;
  }
}
