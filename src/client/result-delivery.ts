import { setTimeout as sleep } from 'node:timers/promises';
import { retryDelayMs } from './http.js';
import {
  type FinishedResult,
  type Outbox,
  PENDING_MAX,
  type SubmitFinished,
  type SubmitOutcome,
} from './outbox.js';
import type { LeaseMonitor } from './renewals.js';
import { type ApiProblem, isProblem, isTransient } from './replies.js';

/**
 * Delivers finished results: writes each to the outbox, then sends it until the server answers, the claim is no longer held,
 * the loop is stopped or a retry is pointless. Unanswered results are sent later, by this run or a later one.
 */
export class ResultDelivery {
  readonly outcomes: SubmitOutcome[] = [];
  /** Results neither written to disk nor answered yet. They are lost if this process ends. */
  private unsavedResults: FinishedResult[] = [];

  constructor(
    private readonly outbox: Outbox,
    private readonly submit: SubmitFinished,
    private readonly isStopped: () => boolean,
    private readonly onAnswer: (outcome: SubmitOutcome) => void | Promise<void>,
  ) {}

  /** Returns null if the result is not answered yet. */
  async deliver(finished: FinishedResult, lease: LeaseMonitor): Promise<SubmitOutcome | null> {
    const path = await this.outbox.put(finished).catch((error: unknown) => {
      const why = `cannot be written to ${this.outbox.folder} (${String(error)})`;
      const effect = 'It is submitted anyway, and lost if this process ends before the server responds.';
      process.emitWarning(`The result of ${finished.task_id} ${why}. ${effect}`, 'GenesisWarning');
      return null;
    });
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.send(finished, path);
      if (!isProblem(outcome)) return outcome;
      if (!lease.isHeld() || this.isStopped() || !isTransient(outcome)) break;
      await sleep(retryDelayMs(attempt));
    }
    if (path === null) this.unsavedResults.push(finished);
    else await this.outbox.returnToPending(path);
    return null;
  }

  /** Sends earlier results before new work is claimed: otherwise this agent might claim its own finished task again. */
  async flushEarlierResults(): Promise<void> {
    if (this.unsavedResults.length > 0 || (await this.outbox.hasUnsent())) await this.flush();
  }

  async flush(): Promise<void> {
    for (const outcome of await this.outbox.flush(this.submit)) await this.record(outcome);
    const earlierResults = this.unsavedResults;
    this.unsavedResults = [];
    for (const finished of earlierResults) {
      if (isProblem(await this.send(finished, null))) this.unsavedResults.push(finished);
    }
  }

  async pending(): Promise<number> {
    return (await this.outbox.pending()) + this.unsavedResults.length;
  }

  async hasCapacity(): Promise<boolean> {
    return (await this.pending()) < PENDING_MAX;
  }

  private async send(finished: FinishedResult, path: string | null): Promise<SubmitOutcome | ApiProblem> {
    const { outbox, submit } = this;
    const outcome =
      path === null ? await outbox.sendUnsaved(finished, submit) : await outbox.send(path, submit);
    if (!isProblem(outcome)) await this.record(outcome);
    return outcome;
  }

  private async record(outcome: SubmitOutcome): Promise<void> {
    this.outcomes.push(outcome);
    await this.onAnswer(outcome);
  }
}
