import { applyCommit, applyStoredHead, emptyWork, type WorkState } from '../../core/views/index.js';
import type { CommitOutcome, Transaction } from '../../stores/store.js';
import { isStillAuthorized } from '../authentication/caller.js';
import { isProblem, type Problem, problemFromError, unauthorizedProblem } from '../wire/problem.js';
import type { CommitPath, CommittingProject, LoadedState, OperationJob } from './commit-path.js';
import { DecisionView, Overlay } from './decision-view.js';
import { loadWorkState, readEventsUntil } from './load-work-state.js';
import type { Attempt } from './operation.js';
import { limitNameOfScope } from './permit-limits.js';

/**
 * Commits to a store to which other coordinators may write as well. A batch is decided on the known state, overlaid with
 * the expected effects of the batches under way. The store compares and swaps, and what it refuses is decided again.
 */
export class SharedCommits implements CommitPath {
  /** Commands that arrive together share a request to the store. */
  readonly decidesOnArrival = false;
  private readonly overlay = new Overlay();
  /** For each batch under way, the subjects that it would change. */
  private readonly changingSubjectSets = new Set<Set<string>>();

  constructor(private readonly project: CommittingProject) {}

  async commitBatch(batch: readonly OperationJob[], earlierBatches: Promise<void>): Promise<void> {
    const view = new DecisionView(this.project, this.project.now(), this.overlay);
    const changingSubjects = new Set<string>();
    this.changingSubjectSets.add(changingSubjects);
    const { jobs, attempts } = this.decideAll(view, batch, changingSubjects);
    const outcomes = jobs.length === 0 ? [] : await this.commit(attempts);
    await earlierBatches;
    view.discardStaged();
    this.changingSubjectSets.delete(changingSubjects);
    if (isProblem(outcomes)) for (const job of jobs) this.project.resolveJob(job, outcomes);
    else await this.settleAll(jobs, attempts, outcomes);
  }

  async load(): Promise<LoadedState> {
    const { store, key } = this.project;
    const state = emptyWork();
    const row = await store.project(key);
    if (row === null) return { state, rules_seq: 0 };
    await loadWorkState(this.project, state, row.position);
    const loaded = { state, rules_seq: row.rules_seq };
    await this.catchUp(loaded);
    return loaded;
  }

  refresh(): Promise<void> {
    return this.catchUp(this.project);
  }

  private async catchUp(target: { readonly state: WorkState; rules_seq: number }): Promise<void> {
    const { store, key, changeNotifier } = this.project;
    for (;;) {
      const row = await store.project(key);
      if (row === null) return;
      // Set the rules after reading the events that changed them, so
      // a decision under a `rules_seq` has seen those events.
      if (row.position > target.state.position) {
        await readEventsUntil(this.project, target.state, row.position);
        changeNotifier.notify();
      }
      target.rules_seq = Math.max(target.rules_seq, row.rules_seq);
      if (row.position === target.state.position) return;
    }
  }

  /** Does not wait, because the state contains only committed transactions. */
  readDurable<T>(query: () => Promise<T>): Promise<T> {
    return query();
  }

  release(): void {}

  private decideAll(view: DecisionView, batch: readonly OperationJob[], changingSubjects: Set<string>) {
    const { project } = this;
    const jobs: OperationJob[] = [];
    const attempts: Attempt<unknown>[] = [];
    for (const job of batch) {
      if (!isStillAuthorized(job.caller)) {
        project.resolveJob(job, unauthorizedProblem());
        continue;
      }
      // A reported limit is valid for one attempt only. Later attempts let the store check it again.
      view.beginOperation(job.reachedLimit);
      job.reachedLimit = null;
      try {
        const attempt = job.operation.attempt(view);
        if ('needs' in attempt) project.fetchThenRetry(job, attempt.needs);
        else if (this.dependsOnPending(attempt.transaction, changingSubjects)) project.requeueLast(job);
        else {
          jobs.push(job);
          attempts.push(attempt);
        }
      } catch (bug) {
        // A bug in one command must not fail the other commands of its batch.
        job.reject(bug);
      }
    }
    return { jobs, attempts };
  }

  /**
   * Whether the transaction depends on an uncommitted head. It must wait: if the earlier transaction is refused,
   * another writer's head may have the same seq, and the store could not tell them apart.
   */
  private dependsOnPending({ swaps, checks }: Transaction, changingSubjects: Set<string>): boolean {
    const isChanging = ({ subject }: { subject: string }) => {
      for (const subjects of this.changingSubjectSets) if (subjects.has(subject)) return true;
      return false;
    };
    const isDependent = swaps.some(isChanging) || checks.some(isChanging);
    // A transaction that has to wait is included: its staged heads stay in the overlay until its batch ends.
    for (const { subject } of swaps) changingSubjects.add(subject);
    return isDependent;
  }

  private async commit(attempts: readonly Attempt<unknown>[]): Promise<CommitOutcome[] | Problem> {
    const { store, observer, environment, backoff } = this.project.services;
    const startMs = environment.clock.monotonicMs();
    try {
      const outcomes = await store.commit(attempts.map((attempt) => attempt.transaction));
      backoff.recordSuccess();
      observer.flushed(attempts.length, environment.clock.monotonicMs() - startMs);
      return outcomes;
    } catch (error) {
      return problemFromError(error);
    }
  }

  private async settleAll(jobs: OperationJob[], attempts: Attempt<unknown>[], outcomes: CommitOutcome[]) {
    const { project } = this;
    const retry: OperationJob[] = [];
    let isBehind = false;
    let hasNewEvents = false;
    for (const [index, outcome] of outcomes.entries()) {
      const job = jobs[index]!;
      const { transaction, reply } = attempts[index]!;
      if (outcome.kind === 'committed') {
        isBehind = this.applyCommit(transaction, outcome) || isBehind;
        hasNewEvents = hasNewEvents || outcome.positions.length > 0;
        project.services.observer.committed(project.key, transaction);
        if (job.operation.shouldRepeat?.(transaction, outcome.positions)) retry.push(job);
        else project.resolveJob(job, reply);
      } else if (outcome.kind === 'replay') void project.resolveReplay(job, outcome.request);
      else {
        if (outcome.kind === 'conflict') isBehind = this.applyConflict(outcome) || isBehind;
        if (outcome.kind === 'full') job.reachedLimit = limitNameOfScope(outcome.scope);
        if (project.countTryOrGiveUp(job)) retry.push(job);
      }
    }
    const latest = outcomes.at(-1);
    if (latest !== undefined) project.services.storeTime.sync(latest.now_ms);
    if (isBehind) await this.catchUpBeforeRetry(retry);
    if (hasNewEvents) project.changeNotifier.notify();
    project.requeueFirst(retry);
  }

  /** Refreshes the state before operations are decided again. If that fails, they get the problem instead. */
  private async catchUpBeforeRetry(retry: OperationJob[]): Promise<void> {
    try {
      await this.project.refresh();
    } catch (error) {
      const failure = problemFromError(error);
      for (const job of retry.splice(0)) this.project.resolveJob(job, failure);
    }
  }

  /** Applies a commit to the state. Returns true if other commits came in between. */
  private applyCommit(transaction: Transaction, outcome: CommitOutcome & { kind: 'committed' }): boolean {
    const { project } = this;
    project.rules_seq = Math.max(project.rules_seq, outcome.rules_seq);
    project.rememberSessionPermits(transaction.permits);
    return applyCommit(project.state, transaction, outcome.positions);
  }

  private applyConflict(outcome: CommitOutcome & { kind: 'conflict' }): boolean {
    for (const { head } of outcome.heads) if (head !== null) applyStoredHead(this.project.state, head);
    return outcome.rules_seq !== this.project.rules_seq;
  }
}
