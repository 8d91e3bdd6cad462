import type { Limits } from '../../core/claims/policy.js';
import { applyCommit, applyStoredHead, emptyWork, type WorkState } from '../../core/views/index.js';
import {
  type CommitOutcome,
  type ProjectKey,
  type Store,
  StoreBroken,
  type StoreMeta,
  type Transaction,
} from '../../stores/store.js';
import { type Caller, isStillAuthorized, OPEN_CALLER } from '../authentication/caller.js';
import type { Environment } from '../runtime/environment.js';
import { claimIdSecretOf } from '../runtime/identity.js';
import type { Observer } from '../runtime/observer.js';
import { runInSlices } from '../runtime/run-in-slices.js';
import {
  isProblem,
  type Problem,
  problem,
  problemFromStoreError,
  unauthorizedProblem,
} from '../wire/problem.js';
import type { Backoff } from './backoff.js';
import { ChangeNotifier } from './change-notifier.js';
import { type DecisionSource, DecisionView, Overlay } from './decision-view.js';
import { eventsAt, loadWorkState, readEventsUntil } from './load-work-state.js';
import type { Attempt, Operation } from './operation.js';
import { limitNameOfScope, SESSIONS_SCOPE } from './permit-limits.js';
import type { StoreTime } from './store-time.js';

/** Small enough that the next batch is decided while this one is written; stores group the writes of several batches. */
const BATCH_MAX = 256;
const QUEUE_MAX = 100_000;
/** Maximum number of conflict retries per operation. */
const TRIES_MAX = 100;

export interface ProjectServices {
  readonly store: Store;
  readonly meta: StoreMeta;
  readonly environment: Environment;
  readonly storeTime: StoreTime;
  /** One per store, shared by its projects. */
  readonly backoff: Backoff;
  readonly limits: () => Limits;
  readonly skew_margin_ms: number;
  readonly observer: Observer;
}

interface OperationJob {
  readonly operation: Operation<unknown>;
  readonly caller: Caller;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (bug: unknown) => void;
  tries: number;
  exhaustedLimit: string | null;
}

/**
 * A loaded project. Commands queue here; a batch is decided in order, committed in one store
 * call, and answered when that call returns. If nobody else writes, further batches are decided
 * on the expected effects of those under way, and the store keeps their order. There is no
 * batching timer: a single command waits for nobody, and a thousand share one fsync.
 */
export class Project implements DecisionSource {
  readonly state: WorkState = emptyWork();
  rules_seq = 0;
  /** Until when each session counts as active, as last written to the store. */
  readonly sessionUntilMs = new Map<string, number>();
  /** Notifies whenever the project's state changes. */
  readonly changeNotifier = new ChangeNotifier();
  private queue: OperationJob[] = [];
  private isDraining = false;
  private readonly overlay = new Overlay();
  /** For each batch under way, the subjects that it would change. */
  private readonly changingByBatch = new Set<Set<string>>();
  /** Batches sent to the store, in sending order. They complete in that order. */
  private readonly inFlight: Promise<void>[] = [];
  private refreshing: Promise<void> | null = null;
  private rebuilding: Promise<void> | null = null;

  readonly claimIdSecret: string;

  private constructor(
    readonly key: ProjectKey,
    private readonly services: ProjectServices,
  ) {
    this.claimIdSecret = claimIdSecretOf(services.meta, key);
  }

  static async load(projectKey: ProjectKey, services: ProjectServices): Promise<Project> {
    const project = new Project(projectKey, services);
    services.storeTime.sync(await services.store.now());
    const rulesSeq = await loadWorkState(project, project.state);
    if (rulesSeq === null) return project;
    project.rules_seq = rulesSeq;
    await project.refresh();
    return project;
  }

  get limits(): Limits {
    return this.services.limits();
  }
  get environment(): Environment {
    return this.services.environment;
  }
  get skew_margin_ms(): number {
    return this.services.skew_margin_ms;
  }

  get store(): Store {
    return this.services.store;
  }
  get meta(): StoreMeta {
    return this.services.meta;
  }
  get hasOtherWriters(): boolean {
    return !this.services.store.capabilities.single_writer;
  }

  get backoff(): Backoff {
    return this.services.backoff;
  }

  /** The store's time, as estimated by this coordinator. */
  now(): number {
    return this.services.storeTime.now();
  }

  view(): DecisionView {
    return new DecisionView(this, this.now());
  }

  /**
   * Queues an operation and resolves with its reply or a problem. The caller is re-authorized when the operation is
   * decided, because it may have queued for long. The coordinator's own operations use the default caller.
   */
  run<Reply>(operation: Operation<Reply>, caller: Caller = OPEN_CALLER): Promise<Reply | Problem> {
    return this.state.position === 0 && !caller.may_create_project
      ? this.runIfCreated(operation, caller)
      : this.enqueue(operation, caller);
  }

  private async runIfCreated<Reply>(operation: Operation<Reply>, caller: Caller): Promise<Reply | Problem> {
    await this.refresh();
    return this.state.position === 0 ? unknownProjectProblem(this.key) : this.enqueue(operation, caller);
  }

  private enqueue<Reply>(operation: Operation<Reply>, caller: Caller): Promise<Reply | Problem> {
    if (this.queue.length >= QUEUE_MAX) {
      return Promise.resolve(problem('UNAVAILABLE', 'Too many commands are queued. Retry in a moment.'));
    }
    return new Promise((resolve, reject) => {
      this.queue.push({
        operation: operation as Operation<unknown>,
        caller,
        resolve: resolve as (reply: unknown) => void,
        reject,
        tries: 0,
        exhaustedLimit: null,
      });
      void this.drainQueue();
    });
  }

  /** Reads what other coordinators have committed. Cheap if this one is the only writer. */
  refresh(): Promise<void> {
    this.refreshing ??= this.catchUp().finally(() => {
      this.refreshing = null;
    });
    return this.refreshing;
  }

  /** Rebuilds the frontier after a plan change, in slices. A caller that needs a later version must call again. */
  rebuildFrontier(): Promise<void> {
    this.rebuilding ??= runInSlices(this.state.frontier.rebuildSteps(this.state), this.environment).finally(
      () => {
        this.rebuilding = null;
      },
    );
    return this.rebuilding;
  }

  settled(): Promise<void> {
    return this.inFlight.at(-1) ?? Promise.resolve();
  }

  private async drainQueue(): Promise<void> {
    if (this.isDraining) return;
    this.isDraining = true;
    await this.environment.yieldToEventLoop();
    const { commits_at_once } = this.services.store.capabilities;
    while (this.queue.length > 0) {
      if (this.inFlight.length < commits_at_once) this.dispatch(this.queue.splice(0, BATCH_MAX));
      else await this.inFlight[0];
      // Clients that were just answered send their next command now; it should share the next batch.
      await this.environment.yieldToEventLoop();
    }
    this.isDraining = false;
  }

  private dispatch(batch: OperationJob[]): void {
    const sent = this.commitBatch(batch, this.settled()).then(() => {
      this.inFlight.shift();
      if (this.queue.length > 0) void this.drainQueue();
    });
    this.inFlight.push(sent);
  }

  private async commitBatch(batch: OperationJob[], previousBatches: Promise<void>): Promise<void> {
    const view = new DecisionView(this, this.now(), this.overlay);
    const changing = new Set<string>();
    this.changingByBatch.add(changing);
    const { jobs, attempts } = this.decideAll(view, batch, changing);
    const outcomes = jobs.length === 0 ? [] : await this.commit(attempts);
    await previousBatches;
    view.discardStaged();
    this.changingByBatch.delete(changing);
    if (isProblem(outcomes)) for (const job of jobs) this.resolveJob(job, outcomes);
    else await this.settleAll(jobs, attempts, outcomes);
  }

  private resolveJob(job: OperationJob, reply: unknown): void {
    this.services.observer.answered(this.key, job.operation.kind, reply);
    job.resolve(reply);
  }

  private async commit(attempts: readonly Attempt<unknown>[]): Promise<CommitOutcome[] | Problem> {
    const { store, observer, environment } = this.services;
    const startedMs = environment.clock.monotonicMs();
    try {
      const outcomes = await store.commit(attempts.map((attempt) => attempt.transaction));
      this.backoff.succeeded();
      observer.flushed(attempts.length, environment.clock.monotonicMs() - startedMs);
      return outcomes;
    } catch (error) {
      return problemFromError(error);
    }
  }

  private decideAll(view: DecisionView, batch: OperationJob[], changing: Set<string>) {
    const jobs: OperationJob[] = [];
    const attempts: Attempt<unknown>[] = [];
    for (const job of batch) {
      if (!isStillAuthorized(job.caller)) {
        this.resolveJob(job, unauthorizedProblem());
        continue;
      }
      // Valid for one attempt only: when decided again, the store is asked again.
      view.beginOperation(job.exhaustedLimit);
      job.exhaustedLimit = null;
      try {
        const attempt = job.operation.attempt(view);
        if ('needs' in attempt) this.fetchThenRetry(job, attempt.needs);
        else if (this.dependsOnPending(attempt.transaction, changing)) this.queue.push(job);
        else {
          jobs.push(job);
          attempts.push(attempt);
        }
      } catch (bug) {
        // A bug in one command must not fail the others of its batch.
        job.reject(bug);
      }
    }
    return { jobs, attempts };
  }

  /**
   * Whether the transaction depends on an uncommitted head. Where others write too it must wait: if the earlier
   * transaction is refused, another writer's head may have the same seq, and the store could not tell them apart.
   */
  private dependsOnPending({ swaps, checks }: Transaction, changing: Set<string>): boolean {
    if (this.services.store.capabilities.single_writer) return false;
    const isChanging = ({ subject }: { subject: string }) => {
      for (const subjects of this.changingByBatch) if (subjects.has(subject)) return true;
      return false;
    };
    const isDependent = swaps.some(isChanging) || checks.some(isChanging);
    // Also for a transaction that has to wait: its staged heads stay in the overlay until its batch ends.
    for (const { subject } of swaps) changing.add(subject);
    return isDependent;
  }

  private fetchThenRetry(job: OperationJob, fetch: () => Promise<void>): void {
    if (!this.mayRetry(job)) return;
    fetch().then(
      () => {
        this.queue.unshift(job);
        void this.drainQueue();
      },
      (error) => this.resolveJob(job, problemFromError(error)),
    );
  }

  private async settleAll(jobs: OperationJob[], attempts: Attempt<unknown>[], outcomes: CommitOutcome[]) {
    const retry: OperationJob[] = [];
    let isBehind = false;
    let hasMoved = false;
    for (const [index, outcome] of outcomes.entries()) {
      const job = jobs[index]!;
      const { transaction, reply } = attempts[index]!;
      if (outcome.kind === 'committed') {
        isBehind = this.applyCommit(transaction, outcome) || isBehind;
        hasMoved = hasMoved || outcome.positions.length > 0;
        this.services.observer.committed(this.key, transaction);
        this.resolveJob(job, reply);
      } else if (outcome.kind === 'replay') void this.resolveReplay(job, outcome);
      else {
        if (outcome.kind === 'conflict') isBehind = this.applyConflict(outcome) || isBehind;
        if (outcome.kind === 'full') job.exhaustedLimit = limitNameOfScope(outcome.scope);
        if (this.mayRetry(job)) retry.push(job);
      }
    }
    const latest = outcomes.at(-1);
    if (latest !== undefined) this.services.storeTime.sync(latest.now_ms);
    if (isBehind) await this.catchUpBeforeRetry(retry);
    if (hasMoved) this.changeNotifier.notify();
    this.queue.unshift(...retry);
  }

  /** Committed operations are answered already; the others must not be decided again on a view known to be stale. */
  private async catchUpBeforeRetry(retry: OperationJob[]): Promise<void> {
    try {
      await this.refresh();
    } catch (error) {
      const failure = problemFromError(error);
      for (const job of retry.splice(0)) this.resolveJob(job, failure);
    }
  }

  /** Counts a try. If there were too many, the job is answered. */
  private mayRetry(job: OperationJob): boolean {
    job.tries += 1;
    if (job.tries <= TRIES_MAX) return true;
    const detail = 'Too many concurrent changes to the same work. Nothing happened; retry.';
    this.resolveJob(job, problem('UNAVAILABLE', detail));
    return false;
  }

  /** Applies a commit to the state. Returns true if other commits came in between. */
  private applyCommit(transaction: Transaction, outcome: CommitOutcome & { kind: 'committed' }): boolean {
    this.rules_seq = Math.max(this.rules_seq, outcome.rules_seq);
    for (const permit of transaction.permits) {
      if (permit.scope !== SESSIONS_SCOPE) continue;
      if (permit.until_ms === null) this.sessionUntilMs.delete(permit.member);
      else this.sessionUntilMs.set(permit.member, permit.until_ms);
    }
    return applyCommit(this.state, transaction, outcome.positions);
  }

  private applyConflict(outcome: CommitOutcome & { kind: 'conflict' }): boolean {
    for (const { head } of outcome.heads) if (head !== null) applyStoredHead(this.state, head);
    return outcome.rules_seq !== this.rules_seq;
  }

  private async resolveReplay(job: OperationJob, outcome: CommitOutcome & { kind: 'replay' }): Promise<void> {
    const { request } = outcome;
    if (request.digest !== job.operation.request?.digest) {
      const detail =
        'This request_id was already used with another body. Use a new request_id for a new command.';
      return this.resolveJob(job, problem('IDEMPOTENCY_CONFLICT', detail));
    }
    try {
      const events = await eventsAt(this, request.positions);
      const reply = request.reply ?? job.operation.replay?.(events, this.view());
      if (reply === undefined) throw new Error(`the stored request of ${job.operation.kind} has no reply`);
      this.resolveJob(job, reply);
    } catch (error) {
      this.resolveJob(job, problemFromError(error));
    }
  }

  private async catchUp(): Promise<void> {
    for (;;) {
      const row = await this.store.project(this.key);
      if (row === null) return;
      // Set the rules after reading the events that changed them, so
      // a decision under a `rules_seq` has seen those events.
      if (row.position > this.state.position) {
        await readEventsUntil(this, this.state, row.position);
        this.changeNotifier.notify();
      }
      this.rules_seq = Math.max(this.rules_seq, row.rules_seq);
      if (row.position === this.state.position) return;
    }
  }
}

function problemFromError(error: unknown): Problem {
  return (
    problemFromStoreError(error) ??
    problem('UNKNOWN', `It may have happened; retry with the same request_id: ${describeUncertainty(error)}`)
  );
}

/** A broken store's message names files of the server: it is for the operator, not for clients. */
function describeUncertainty(error: unknown): string {
  if (error instanceof StoreBroken) return 'the store has stopped, and its operator must start it again.';
  return error instanceof Error ? error.message : String(error);
}

const unknownProjectProblem = ({ project_id }: ProjectKey): Problem =>
  problem(
    'NOT_FOUND',
    `There is no project ${project_id}. Have an admin import its plan first: gen plan import FILE.`,
  );
