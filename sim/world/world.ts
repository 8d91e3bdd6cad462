import { createHash } from 'node:crypto';
import { drainMicrotasks, runInOwnTurn } from './determinism-guards.js';
import { EventQueue } from './event-queue.js';
import { Rng } from './rng.js';

/** A broken invariant. The run stops at the first one. */
export class ViolationError extends Error {
  override readonly name = 'ViolationError';
}

/** Digesting line by line would be too expensive. */
const LINES_PER_DIGEST = 512;

export const WORLD_EPOCH_MS = Date.UTC(2026, 0, 1);

/**
 * The simulated world: a queue of tasks in virtual time. One task runs at a time, and all its consequences finish
 * before the next, so that a seed always produces the same trace.
 */
export class SimWorld {
  readonly rng: Rng;
  /** True time, invisible to the simulated processes: milliseconds since the start. */
  now_ms = 0;
  steps = 0;
  private readonly queue = new EventQueue();
  private sequence = 0;
  private readonly digest = createHash('sha256');
  private pendingLines = '';
  /** The time of each line that is not yet digested. */
  private readonly pendingTimesMs = new Float64Array(LINES_PER_DIGEST);
  private pendingCount = 0;
  private failure: ViolationError | null = null;

  constructor(
    seed: number,
    private readonly onTrace: ((line: string) => void) | null = null,
  ) {
    this.rng = new Rng(`seed ${seed}`);
  }

  /** Runs `task` after a delay. Returns a function that cancels it. */
  schedule(afterMs: number, label: string, task: () => void): () => void {
    let isCancelled = false;
    this.sequence += 1;
    this.queue.push({
      at_ms: this.now_ms + Math.max(afterMs, 0),
      sequence: this.sequence,
      label,
      task: () => {
        if (!isCancelled) task();
      },
    });
    return () => {
      isCancelled = true;
    };
  }

  /** Appends a line to the trace; two runs of one seed have identical traces. */
  trace(line: string): void {
    this.appendTrace(line);
    this.onTrace?.(`${(this.now_ms / 1000).toFixed(3).padStart(10)}s  ${line}`);
  }

  /** Records the first violation; the run ends after the current step. */
  reportViolation(invariant: string, message: string): void {
    this.trace(`VIOLATION ${invariant}: ${message}`);
    this.failure ??= new ViolationError(`${invariant}: ${message}`);
  }

  /** Runs tasks until `isDone`, until the time is up, or until no task is left. */
  run(untilMs: number, isDone: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      runInOwnTurn(() => {
        try {
          resolve(this.runNow(untilMs, isDone));
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  private runNow(untilMs: number, isDone: () => boolean): void {
    while (!isDone()) {
      if (this.failure !== null) throw this.failure;
      const event = this.queue.pop();
      if (event === undefined) return;
      if (event.at_ms > untilMs) {
        this.queue.push(event);
        this.now_ms = untilMs;
        return;
      }
      this.now_ms = event.at_ms;
      this.steps += 1;
      this.appendTrace(event.label);
      event.task();
      drainMicrotasks();
    }
    if (this.failure !== null) throw this.failure;
  }

  /** The digest of the trace. No line can be added afterwards. */
  fingerprint(): string {
    this.digestPending();
    return this.digest.digest('hex');
  }

  private appendTrace(line: string): void {
    this.pendingTimesMs[this.pendingCount] = this.now_ms;
    this.pendingCount += 1;
    this.pendingLines += `${line}\n`;
    if (this.pendingCount === LINES_PER_DIGEST) this.digestPending();
  }

  private digestPending(): void {
    this.digest.update(this.pendingLines).update(this.pendingTimesMs.subarray(0, this.pendingCount));
    this.pendingLines = '';
    this.pendingCount = 0;
  }
}
