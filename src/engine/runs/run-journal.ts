import { addCost, type Cost, NO_COST } from '../../core/engine/check-outcome.js';
import type { BlobReference, EngineErrorName } from '../../core/engine/run-data.js';
import { INLINE_OUTPUT_BYTES_MAX, type RunEventPayload } from '../../core/engine/run-events.js';
import { foldRuns, type Run, type RunStep } from '../../core/engine/runs.js';
import type { EdgeCoordination } from '../coordination.js';
import { type EngineError, RecordedError } from '../engine-error.js';
import type { RunBlobs } from '../run-blobs.js';
import { appendRunEvent, type RunAuthor } from './run-events.js';

type Output = Readonly<Record<string, unknown>>;

/** Identifies a step. A recorded result counts only for the same input. */
export interface StepKey {
  readonly step: string;
  readonly iteration: number;
  readonly input_sha256: string;
}

interface CompletedStep {
  readonly input_sha256: string;
  readonly output: Output | null;
  readonly output_ref: BlobReference | null;
}

/** The end of a step in this process that the log has not confirmed yet. */
interface UnconfirmedEnd {
  readonly key: StepKey;
  readonly payload: RunEventPayload<'run_step_completed'>;
}

/** The steps of a run: completed steps are read from the log, and new ones are appended to it. */
export class RunJournal {
  private readonly completed = new Map<string, CompletedStep>();
  private readonly attempts = new Map<string, number>();
  private readonly unconfirmed = new Map<string, UnconfirmedEnd>();
  /** Digests of the inputs of steps that wait for a person. */
  private readonly waitingInputs = new Map<string, string>();
  private readonly replayedFailures = new Map<string, number>();
  /** Steps of an earlier execution that the machine has not reached again. */
  private readonly unreplayed: Set<string>;
  private totalCost: Cost = NO_COST;
  private lastIteration = 0;

  constructor(
    private readonly coordination: Pick<EdgeCoordination, 'appendEvent' | 'eventsOf'>,
    private readonly blobs: RunBlobs,
    readonly author: RunAuthor,
    readonly run_id: string,
    earlierRun: Pick<Run, 'steps' | 'spent'> | null,
    /** Recorded failures, replayed in their order to a machine that is run again from its start. */
    private readonly failures: readonly RunEventPayload<'run_step_failed'>[] = [],
  ) {
    for (const step of earlierRun?.steps ?? []) this.remember(step);
    if (earlierRun !== null) this.totalCost = earlierRun.spent;
    const failed = failures.map(({ step, iteration }) => nameOf(step, iteration));
    this.unreplayed = new Set([...this.completed.keys(), ...failed]);
  }

  /** Whether the machine still repeats what an earlier execution recorded. */
  get isReplaying(): boolean {
    return this.unreplayed.size > 0;
  }

  /** The cost of all steps of the run so far, failed ones included. */
  get spent(): Cost {
    return this.totalCost;
  }

  get iterations(): number {
    return this.lastIteration;
  }

  /** The result of a step that was completed with the same input; undefined if there is none. */
  async resultOf({ step, iteration, input_sha256 }: StepKey): Promise<unknown> {
    const name = nameOf(step, iteration);
    const unconfirmedEnd = this.unconfirmed.get(name);
    if (unconfirmedEnd?.key.input_sha256 === input_sha256) await this.confirmEnd(unconfirmedEnd);
    const completed = this.completed.get(name);
    if (completed === undefined || completed.input_sha256 !== input_sha256) return undefined;
    this.unreplayed.delete(name);
    if (completed.output_ref === null) return completed.output;
    return JSON.parse(Buffer.from(await this.blobs.get(completed.output_ref)).toString('utf8'));
  }

  /** Whether the log says that this step waits for a person. */
  isWaiting({ step, iteration, input_sha256 }: StepKey): boolean {
    return this.waitingInputs.get(nameOf(step, iteration)) === input_sha256;
  }

  /** The next recorded failure of this step with this input, to replay to the machine; null if all were replayed. */
  nextFailure({ step, iteration, input_sha256 }: StepKey): RecordedError | null {
    const failures = this.failures.filter(
      (each) => each.step === step && each.iteration === iteration && each.input_sha256 === input_sha256,
    );
    const name = nameOf(step, iteration);
    const replayedCount = this.replayedFailures.get(name) ?? 0;
    const failure = failures[replayedCount];
    if (failure === undefined) return null;
    this.replayedFailures.set(name, replayedCount + 1);
    if (replayedCount + 1 === failures.length) this.unreplayed.delete(name);
    return new RecordedError(failure.error as EngineErrorName, failure.cause, failure.cost ?? null);
  }

  /** Returns the number of the attempt. A waiting step continues its current attempt. */
  async recordStart(key: StepKey): Promise<number> {
    const name = nameOf(key.step, key.iteration);
    this.unreplayed.clear();
    const attemptsBefore = this.attempts.get(name) ?? 0;
    if (this.isWaiting(key)) return attemptsBefore;
    const attempt = attemptsBefore + 1;
    await appendRunEvent(this.coordination, this.author, 'run_step_started', {
      ...this.stepFields(key),
      attempt,
    });
    this.attempts.set(name, attempt);
    this.lastIteration = Math.max(this.lastIteration, key.iteration);
    return attempt;
  }

  /**
   * Records the end of a step. If the coordinator does not answer, the end is kept, and `resultOf` records it later:
   * completed work is not repeated.
   */
  async recordEnd(key: StepKey, attempt: number, durationMs: number, output: Output): Promise<void> {
    const stored = await this.storeOutput(output);
    const cost = (output as { cost?: Cost }).cost;
    if (cost !== undefined) this.totalCost = addCost(this.totalCost, cost);
    const payload = {
      ...this.stepFields(key),
      attempt,
      duration_ms: Math.max(0, Math.round(durationMs)),
      ...stored,
      ...(cost === undefined ? {} : { cost }),
    };
    const unconfirmedEnd = { key, payload };
    this.unconfirmed.set(nameOf(key.step, key.iteration), unconfirmedEnd);
    await this.confirmEnd(unconfirmedEnd);
  }

  private async confirmEnd({ key, payload }: UnconfirmedEnd): Promise<void> {
    const name = nameOf(key.step, key.iteration);
    const recorded = await appendRunEvent(this.coordination, this.author, 'run_step_completed', payload);
    const { input_sha256 } = key;
    const { output = null, output_ref = null } = payload;
    // The previous executor may have died after it sent its result. If that result was recorded first, it counts.
    if (recorded === 'already_recorded') await this.rememberRecorded(key);
    else this.completed.set(name, { input_sha256, output, output_ref });
    this.unconfirmed.delete(name);
  }

  private async rememberRecorded({ step, iteration }: StepKey): Promise<void> {
    const runs = foldRuns(await this.coordination.eventsOf(this.author.subject));
    const run = runs.find(({ run_id }) => run_id === this.run_id);
    const recordedStep = run?.steps.find((each) => each.step === step && each.iteration === iteration);
    if (recordedStep !== undefined) this.remember(recordedStep);
  }

  async recordFailure(key: StepKey, attempt: number, durationMs: number, error: EngineError): Promise<void> {
    await appendRunEvent(this.coordination, this.author, 'run_step_failed', {
      ...this.stepFields(key),
      attempt,
      duration_ms: Math.max(0, Math.round(durationMs)),
      error: error.name,
      cause: error.message,
      ...(error.cost === null ? {} : { cost: error.cost }),
    });
    if (error.cost !== null) this.totalCost = addCost(this.totalCost, error.cost);
  }

  /** Records that a step waits for a person. `task`: the input of the waiting task. */
  async recordWaiting(key: StepKey, attempt: number, deadlineAt: string, task: BlobReference): Promise<void> {
    const payload = { ...this.stepFields(key), attempt, deadline_at: deadlineAt, task };
    await appendRunEvent(this.coordination, this.author, 'run_suspended', payload);
  }

  private async storeOutput(
    output: Output,
  ): Promise<Pick<RunEventPayload<'run_step_completed'>, 'output' | 'output_ref'>> {
    const bytes = Buffer.from(JSON.stringify(output));
    return bytes.byteLength <= INLINE_OUTPUT_BYTES_MAX
      ? { output: { ...output } }
      : { output_ref: await this.blobs.put(bytes) };
  }

  private stepFields({ step, iteration, input_sha256 }: StepKey) {
    return { run_id: this.run_id, step, iteration, input_sha256 };
  }

  private remember({ step, iteration, attempts, status, input_sha256, output, output_ref }: RunStep): void {
    this.attempts.set(nameOf(step, iteration), attempts);
    this.lastIteration = Math.max(this.lastIteration, iteration);
    if (status === 'WAITING') this.waitingInputs.set(nameOf(step, iteration), input_sha256);
    if (status === 'COMPLETED')
      this.completed.set(nameOf(step, iteration), { input_sha256, output, output_ref });
  }
}

const nameOf = (step: string, iteration: number): string => `${iteration} ${step}`;
