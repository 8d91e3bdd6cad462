import type { LogStep } from '../../stores/store.js';
import { problemFromError } from '../wire/problem.js';
import type { CommittingProject } from './commit-path.js';

/** The reply of a command that was decided when it arrived. */
interface DirectReply {
  readonly kind: string;
  readonly step: LogStep;
  readonly reply: unknown;
  readonly resolve: (reply: unknown) => void;
}

/** Replies that wait for the same write. */
interface ReplyGroup {
  readonly written: Promise<void>;
  readonly replies: DirectReply[];
}

/** The replies of commands that were decided when they arrived. Each is sent when the write of its own step is durable. */
export class DirectReplies {
  private lastGroup: ReplyGroup | null = null;

  constructor(private readonly project: CommittingProject) {}

  /** Resolves to the reply once `written` has resolved, and to a problem if it rejects. */
  add(written: Promise<void>, kind: string, step: LogStep, reply: unknown): Promise<unknown> {
    const { replies } = this.lastGroup?.written === written ? this.lastGroup : this.startGroup(written);
    return new Promise((resolve) => {
      replies.push({ kind, step, reply, resolve });
    });
  }

  private startGroup(written: Promise<void>): ReplyGroup {
    const group = { written, replies: [] };
    this.lastGroup = group;
    void this.release(group);
    return group;
  }

  private async release(group: ReplyGroup): Promise<void> {
    const { environment, observer, backoff } = this.project.services;
    const startMs = environment.clock.monotonicMs();
    const { written, replies } = group;
    try {
      await written;
      backoff.recordSuccess();
      observer.flushed(replies.length, environment.clock.monotonicMs() - startMs);
      this.answer(replies);
    } catch (error) {
      this.fail(replies, error);
    }
    if (this.lastGroup === group) this.lastGroup = null;
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

  private fail(replies: readonly DirectReply[], error: unknown): void {
    const { key, services } = this.project;
    const problem = problemFromError(error);
    for (const { kind, resolve } of replies) {
      services.observer.answered(key, kind, problem);
      resolve(problem);
    }
  }
}
