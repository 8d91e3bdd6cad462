import { setTimeout as sleep } from 'node:timers/promises';
import { pauseAfter } from './http.js';
import { type Finished, type Outbox, PENDING_MAX, type Submit, type SubmitOutcome } from './outbox.js';
import type { Hold } from './renewals.js';
import { isPassing, isProblem, type Problem } from './replies.js';

/**
 * Hands in what a worker finished: written down first, then sent until there is an answer, as long as the claim can be
 * kept meanwhile. What has no answer then is sent later, by this run or another.
 */
export class Delivery {
  readonly outcomes: SubmitOutcome[] = [];
  /** What the disk would not take, and no server has answered yet: it is lost with this process. */
  private unwritten: Finished[] = [];

  constructor(
    private readonly outbox: Outbox,
    private readonly submit: Submit,
    private readonly isStopped: () => boolean,
  ) {}

  /** Whether the result counts. */
  async deliver(finished: Finished, hold: Hold): Promise<boolean> {
    const path = await this.outbox.put(finished).catch((error: unknown) => {
      warn(`The result of ${finished.task_id} cannot be written to ${this.outbox.folder} (${String(error)}). It is
submitted all the same, and lost if this process ends before the server answers.`);
      return null;
    });
    for (let tried = 1; ; tried++) {
      const outcome = await this.send(finished, path);
      if (!isProblem(outcome)) return outcome.accepted;
      if (!hold.held() || this.isStopped() || !isPassing(outcome)) break;
      await sleep(pauseAfter(tried));
    }
    if (path === null) this.unwritten.push(finished);
    else await this.outbox.giveBack(path);
    return false;
  }

  /** What is left from before goes before what is new: else this very agent might take over from itself. */
  async catchUp(): Promise<void> {
    if (this.unwritten.length > 0 || (await this.outbox.isBehind())) await this.flush();
  }

  async flush(): Promise<void> {
    this.outcomes.push(...(await this.outbox.flush(this.submit)));
    const left = this.unwritten;
    this.unwritten = [];
    for (const finished of left) {
      if (isProblem(await this.send(finished, null))) this.unwritten.push(finished);
    }
  }

  async pending(): Promise<number> {
    return (await this.outbox.pending()) + this.unwritten.length;
  }

  async hasRoom(): Promise<boolean> {
    return (await this.pending()) < PENDING_MAX;
  }

  private async send(finished: Finished, path: string | null): Promise<SubmitOutcome | Problem> {
    const { outbox, submit } = this;
    const outcome =
      path === null ? await outbox.sendUnwritten(finished, submit) : await outbox.send(path, submit);
    if (!isProblem(outcome)) this.outcomes.push(outcome);
    return outcome;
  }
}

const warn = (sentence: string): void =>
  process.emitWarning(sentence.replaceAll('\n', ' '), 'GenesisWarning');
