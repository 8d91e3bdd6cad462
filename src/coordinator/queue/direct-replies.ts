import { type LogStep, StoreUncertain, type WritableLog } from '../../stores/store.js';
import { type Problem, problemFromError } from '../wire/problem.js';
import type { CommittingProject } from './commit-path.js';

/** The reply of a command that was decided when it arrived. */
interface DirectReply {
  readonly kind: string;
  readonly step: LogStep;
  /** The log's when the step was applied. */
  readonly reload_count: number;
  readonly reply: unknown;
  readonly resolve: (reply: unknown) => void;
}

/** The replies of commands that were decided when they arrived. They leave together, when the log is durable. */
export class DirectReplies {
  private waiting: DirectReply[] = [];

  constructor(private readonly project: CommittingProject) {}

  add(log: WritableLog, kind: string, step: LogStep, reply: unknown): Promise<unknown> {
    if (this.waiting.length === 0) void this.release(log);
    return new Promise((resolve) => {
      this.waiting.push({ kind, step, reload_count: log.reload_count, reply, resolve });
    });
  }

  private async release(log: WritableLog): Promise<void> {
    const { environment, observer, backoff } = this.project.services;
    const startedMs = environment.clock.monotonicMs();
    // Commands that arrive in the same turn share the wait.
    await environment.yieldToEventLoop();
    const isKept = ({ reload_count }: DirectReply): boolean => reload_count === log.reload_count;
    const replies = this.waiting.filter(isKept);
    // A write has failed meanwhile, and the log was read again: it no longer knows what became of the other steps.
    const taken = replies.length < this.waiting.length ? this.waiting.filter((reply) => !isKept(reply)) : [];
    this.waiting = [];
    if (taken.length > 0)
      this.fail(taken, problemFromError(new StoreUncertain('The log could not be written.')));
    try {
      await log.durable();
      backoff.recordSuccess();
      observer.flushed(replies.length, environment.clock.monotonicMs() - startedMs);
      this.answer(replies);
    } catch (error) {
      this.fail(replies, problemFromError(error));
    }
  }

  private answer(replies: readonly DirectReply[]): void {
    const { key, services, changeNotifier } = this.project;
    for (const { kind, step, reply, resolve } of replies) {
      services.observer.stepCommitted(key, step);
      services.observer.answered(key, kind, reply);
      resolve(reply);
    }
    changeNotifier.notify();
  }

  private fail(replies: readonly DirectReply[], problem: Problem): void {
    const { key, services } = this.project;
    for (const { kind, resolve } of replies) {
      services.observer.answered(key, kind, problem);
      resolve(problem);
    }
  }
}
