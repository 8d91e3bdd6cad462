import type { GrantLimit } from '../../core/claims/reached-limit.js';
import { applyOwnCommit, applyOwnStep, applyPlanEvent, emptyWork } from '../../core/views/index.js';
import {
  type CompletedRequest,
  type LogStore,
  StoreBroken,
  StoreUnavailable,
  type Transaction,
  type WritableLog,
} from '../../stores/store.js';
import { type Caller, isStillAuthorized } from '../authentication/caller.js';
import {
  type Problem,
  problemFromError,
  problemFromStoreError,
  unauthorizedProblem,
} from '../wire/problem.js';
import type { CommitPath, CommittingProject, LoadedState, OperationJob } from './commit-path.js';
import { DecisionView } from './decision-view.js';
import { DirectReplies } from './direct-replies.js';
import { readPlanEvents, setPosition } from './load-work-state.js';
import type { Operation } from './operation.js';
import { limitNameOfScope } from './permit-limits.js';

const QUERY_TRIES_MAX = 5;

/** A decided command whose reply waits for the log. */
interface DecidedJob {
  readonly job: OperationJob;
  readonly transaction: Transaction;
  readonly reply: unknown;
  /** The request that took effect before, if the command repeats one. */
  readonly replayed: CompletedRequest | null;
}

/** A view that several commands share, and the `rules_seq` for which it was made. */
interface DirectView {
  readonly view: DecisionView;
  readonly rules_seq: number;
}

const isStoreError = (error: unknown): boolean =>
  error instanceof StoreBroken || problemFromStoreError(error) !== null;

/**
 * Commits to a log with a single writer. A command is decided on the state and applied to it in the same turn, so
 * that nothing has to be compared or decided again. Every reply, also of a refusal, waits until the log is durable. After
 * a failed write, the state is loaded again from the log, without the events that did not become durable.
 */
export class LogCommits implements CommitPath {
  private log: WritableLog | null = null;
  /** The log's `reload_count` when the state was loaded. */
  private loadedReloadCount = 0;
  private preparing: Promise<WritableLog> | null = null;

  private readonly directReplies: DirectReplies;
  private directView: DirectView | null = null;

  constructor(
    private readonly project: CommittingProject,
    private readonly store: LogStore,
  ) {
    this.directReplies = new DirectReplies(project);
  }

  get decidesOnArrival(): boolean {
    return this.currentLog() !== null;
  }

  decideNow(operation: Operation<unknown>, caller: Caller): Promise<unknown> | null {
    if (operation.decideDirectly === undefined || !isStillAuthorized(caller)) return null;
    try {
      const log = this.currentLog();
      return log?.applyStep === undefined ? null : this.commitStep(log, operation);
    } catch (error) {
      // After a store error, the queue tries the command again and replies with the problem.
      return isStoreError(error) ? null : Promise.reject(error);
    }
  }

  private commitStep(log: WritableLog, operation: Operation<unknown>): Promise<unknown> | null {
    const { project } = this;
    const view = this.viewAt(log.now());
    view.beginOperation(null);
    const direct = operation.decideDirectly?.(view) ?? null;
    if (direct === null) return null;
    const written = log.applyStep?.(direct.step, view.now_ms) ?? null;
    if (written === null) return null;
    const { step, decision, reply } = direct;
    project.rememberSessionPermits(step.permits);
    applyOwnStep(project.state, decision, log.position, step.event.timestamp);
    return this.directReplies.add(written, operation.kind, step, reply);
  }

  /** Commands of one millisecond share a view, while the rules, the limits and the state are unchanged. */
  private viewAt(nowMs: number): DecisionView {
    const { project, directView } = this;
    const { rules_seq, limits, state } = project;
    if (directView !== null) {
      const { view } = directView;
      const isSame = view.now_ms === nowMs && view.state === state && view.limits === limits;
      if (isSame && directView.rules_seq === rules_seq) return view;
    }
    project.services.storeTime.sync(nowMs);
    const view = new DecisionView(project, nowMs);
    this.directView = { view, rules_seq };
    return view;
  }

  async commitBatch(batch: readonly OperationJob[], earlierBatches: Promise<void>): Promise<void> {
    const { observer, environment, backoff } = this.project.services;
    const startMs = environment.clock.monotonicMs();
    let decided: readonly DecidedJob[] = [];
    let failure: Problem | null = null;
    try {
      const log = this.currentLog() ?? (await this.prepare());
      decided = this.decideAll(log, batch);
      if (decided.length > 0) await log.durable();
      backoff.recordSuccess();
      observer.flushed(decided.length, environment.clock.monotonicMs() - startMs);
    } catch (error) {
      failure = problemFromError(error);
    }
    await earlierBatches;
    if (failure === null) this.answerJobs(decided);
    else {
      // If the log could not be opened, nothing was decided, and the whole batch gets the problem.
      const jobs = decided.length > 0 ? decided.map(({ job }) => job) : batch;
      for (const job of jobs) this.project.resolveJob(job, failure);
    }
  }

  async readDurable<T>(query: () => Promise<T>): Promise<T> {
    for (let tries = 1; tries <= QUERY_TRIES_MAX; tries += 1) {
      // A project without events may not exist; a query does not create its log.
      if (this.log === null && this.project.state.position === 0) return query();
      const log = this.currentLog() ?? (await this.prepare());
      const { reload_count } = log;
      const reply = await query();
      await log.durable();
      if (reload_count === log.reload_count) return reply;
    }
    throw new StoreUnavailable('The log could not be written. Try again.');
  }

  /** Removes the listener, through which the log would keep the project in memory. */
  release(): void {
    if (this.log !== null) this.log.onDurable = null;
  }

  private decideAll(log: WritableLog, batch: readonly OperationJob[]): DecidedJob[] {
    const decided: DecidedJob[] = [];
    const nowMs = log.now();
    this.project.services.storeTime.sync(nowMs);
    let view = new DecisionView(this.project, nowMs);
    for (const job of batch) {
      view.discardStaged();
      try {
        const decision = isStillAuthorized(job.caller)
          ? this.decide(log, view, job)
          : this.project.resolveJob(job, unauthorizedProblem());
        if (decision == null) continue;
        decided.push(decision);
        if (decision.transaction.changes_rules) {
          // The view has cached the old rules.
          view = new DecisionView(this.project, nowMs);
        }
      } catch (error) {
        this.failJob(job, error);
      }
    }
    return decided;
  }

  /** Decides one command and applies it. Null if the command is queued again, or is already answered. */
  private decide(log: WritableLog, view: DecisionView, job: OperationJob): DecidedJob | null {
    const { project } = this;
    for (let reachedLimit: GrantLimit | null = null; ; ) {
      view.beginOperation(reachedLimit);
      const attempt = job.operation.attempt(view);
      if ('needs' in attempt) {
        project.fetchThenRetry(job, attempt.needs);
        return null;
      }
      const { transaction, reply } = attempt;
      const { heads } = project.state;
      const wasCompleted = transaction.swaps.map(({ subject }) => heads.isCompleted(subject));
      const outcome = log.apply(transaction, view.now_ms);
      if (outcome.kind === 'committed') {
        project.rules_seq = outcome.rules_seq;
        project.rememberSessionPermits(transaction.permits);
        applyOwnCommit(project.state, transaction, wasCompleted, outcome.positions);
        return { job, transaction, reply, replayed: null };
      }
      view.discardStaged();
      if (outcome.kind === 'replay') return { job, transaction, reply: null, replayed: outcome.request };
      if (!project.countTryOrGiveUp(job)) return null;
      if (outcome.kind !== 'full') {
        // An import or another writer has bypassed the project's queue: the next batch begins with a fresh state.
        project.requeueFirst([job]);
        return null;
      }
      reachedLimit = limitNameOfScope(outcome.scope);
    }
  }

  /** Answers a job with a store error. Any other error is a bug, which must not fail the other jobs of the batch. */
  private failJob(job: OperationJob, error: unknown): void {
    if (isStoreError(error)) this.project.resolveJob(job, problemFromError(error));
    else job.reject(error);
  }

  private answerJobs(decided: readonly DecidedJob[]): void {
    const { key, services, changeNotifier } = this.project;
    let hasNewEvents = false;
    for (const { job, transaction, reply, replayed } of decided) {
      if (replayed !== null) {
        void this.project.resolveReplay(job, replayed);
        continue;
      }
      hasNewEvents = hasNewEvents || transaction.swaps.length + transaction.loose_events.length > 0;
      services.observer.committed(key, transaction);
      this.project.resolveJob(job, reply);
    }
    if (hasNewEvents) changeNotifier.notify();
  }

  /** The log if the state is current, that is, includes exactly the transactions applied to the log; null otherwise. */
  private currentLog(): WritableLog | null {
    const { log } = this;
    const { heads, position } = this.project.state;
    const isCurrent =
      log?.reload_count === this.loadedReloadCount && log.heads.claims === heads && log.position === position;
    return isCurrent ? log : null;
  }

  private prepare(): Promise<WritableLog> {
    this.preparing ??= this.openAndLoad().finally(() => {
      this.preparing = null;
    });
    return this.preparing;
  }

  private async openAndLoad(): Promise<WritableLog> {
    await this.open();
    for (;;) {
      const log = this.currentLog();
      if (log !== null) return log;
      await this.project.reload();
    }
  }

  private async open(): Promise<WritableLog> {
    this.log ??= await this.store.openLog(this.project.key);
    const { project } = this;
    if (project.services.isAudited)
      this.log.onDurable = (firstPosition, leafHashes) => project.onDurable?.(firstPosition, leafHashes);
    return this.log;
  }

  /** Loads the state. It shares the heads of the log, so only the plan is read. */
  async load(): Promise<LoadedState> {
    const { key } = this.project;
    const row = await this.store.project(key);
    if (row === null && this.log === null) return { state: emptyWork(), rules_seq: 0 };
    const log = await this.open();
    for (;;) {
      const { reload_count, position, heads } = log;
      const state = emptyWork(heads);
      await readPlanEvents({ store: this.store, key }, position, (event) =>
        applyPlanEvent(state.plan, event),
      );
      await setPosition({ store: this.store, key }, state, position);
      // Read again if something was written meanwhile outside the project's queue, for example by an import.
      if (log.position !== position || log.reload_count !== reload_count) continue;
      this.loadedReloadCount = reload_count;
      return { state, rules_seq: log.rules_seq };
    }
  }

  /** Loads the state again after a write outside the project's queue. Only the heads, shared with the log, include it. */
  async refresh(): Promise<void> {
    const { project } = this;
    const row = this.log ?? (await this.store.project(project.key));
    if (row === null || row.position === project.state.position) return;
    await project.reload();
    project.changeNotifier.notify();
  }
}
