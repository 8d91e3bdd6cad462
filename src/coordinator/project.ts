import type { Limits } from '../core/claims/policy.js';
import { applyCommit, applyStoredHead, emptyWork, type WorkState } from '../core/views/index.js';
import {
  type CommitOutcome,
  type ProjectKey,
  type Store,
  StoreBroken,
  type StoreMeta,
  type Transaction,
} from '../stores/store.js';
import type { Backoff } from './backoff.js';
import { type Caller, isStillAuthorized, OPEN_CALLER } from './caller.js';
import { ChangeNotifier } from './change-notifier.js';
import { type DecisionSource, DecisionView, Overlay } from './decision-view.js';
import type { Environment } from './environment.js';
import { claimIdSecretOf } from './identity.js';
import { eventsAt, loadWorkState, readEventsUntil } from './load-work-state.js';
import type { Observer } from './observer.js';
import type { Attempt, Operation } from './operation.js';
import { limitNameOfScope, SESSIONS_SCOPE } from './permit-limits.js';
import { isProblem, type Problem, problem, unauthorizedProblem } from './problem.js';
import { runInSlices } from './run-in-slices.js';
import { problemFromStoreError } from './store-problem.js';
import type { StoreTime } from './store-time.js';

/** Small enough that the next batch is decided while this one is at the disk; a store writes them together anyway. */
const BATCH_MAX = 256;
const QUEUE_MAX = 100_000;
/** An operation that keeps meeting others on its subject gives up, honestly, before it spins for ever. */
const TRIES_MAX = 100;

export interface ProjectServices {
  readonly store: Store;
  readonly meta: StoreMeta;
  readonly environment: Environment;
  readonly storeTime: StoreTime;
  /** Of the store, shared by all its projects. */
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
 * One project at work. Commands queue here; a batch is decided in turn, committed in one store call, and
 * answered when that call returns. Where nobody else writes, the next batches are decided and sent after it, on what
 * those before them are about to do: the store keeps their order. No timer, so a lone command waits for nobody, and a
 * thousand share one fsync.
 */
export class Project implements DecisionSource {
  readonly state: WorkState = emptyWork();
  rules_seq = 0;
  /** Until when each session counts as active, as far as this coordinator has told the store. */
  readonly sessionUntilMs = new Map<string, number>();
  /** Fires whenever the project has moved. */
  readonly changeNotifier = new ChangeNotifier();
  private queue: OperationJob[] = [];
  private isDraining = false;
  private readonly overlay = new Overlay();
  /** For each batch under way, the subjects that its commands would change. */
  private readonly changingByBatch = new Set<Set<string>>();
  /** Batches at the store, the first sent first. They end in that order. */
  private readonly inFlight: Promise<void>[] = [];
  private refreshing: Promise<void> | null = null;
  private surveying: Promise<void> | null = null;

  readonly claimIdSecret: string;

  private constructor(
    readonly key: ProjectKey,
    private readonly services: ProjectServices,
  ) {
    this.claimIdSecret = claimIdSecretOf(services.meta, key);
  }

  static async load(key: ProjectKey, services: ProjectServices): Promise<Project> {
    const project = new Project(key, services);
    await project.load();
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

  /** The store's time, as far as this coordinator knows it. */
  now(): number {
    return this.services.storeTime.now();
  }

  view(): DecisionView {
    return new DecisionView(this, this.now());
  }

  /**
   * Resolves with the operation's reply, or with the problem that kept it from one. It waits in a queue, so the caller is
   * asked for its authorization again when it is decided. The coordinator's own operations have no caller.
   */
  run<Reply>(operation: Operation<Reply>, caller: Caller = OPEN_CALLER): Promise<Reply | Problem> {
    if (this.queue.length >= QUEUE_MAX) {
      return Promise.resolve(problem('UNAVAILABLE', 'Too many commands are waiting. Try again in a moment.'));
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
      if (!this.isDraining) void this.drainQueue();
    });
  }

  /** Reads what others have committed. Cheap where this coordinator is the only writer: nothing is ever there. */
  refresh(): Promise<void> {
    this.refreshing ??= this.catchUp().finally(() => {
      this.refreshing = null;
    });
    return this.refreshing;
  }

  /** Surveys the work after a change of the plan, a slice at a time. Whoever needs a later one than this asks again. */
  surveyFrontier(): Promise<void> {
    this.surveying ??= runInSlices(this.state.frontier.rebuildSteps(this.state), this.environment).finally(
      () => {
        this.surveying = null;
      },
    );
    return this.surveying;
  }

  settled(): Promise<void> {
    return this.inFlight.at(-1) ?? Promise.resolve();
  }

  private async drainQueue(): Promise<void> {
    this.isDraining = true;
    await this.environment.yieldToEventLoop();
    const { commits_at_once } = this.services.store.capabilities;
    while (this.queue.length > 0) {
      if (this.inFlight.length < commits_at_once) this.dispatch(this.queue.splice(0, BATCH_MAX));
      else await this.inFlight[0];
      // Whoever has been answered asks again, and that should share the next batch.
      await this.environment.yieldToEventLoop();
    }
    this.isDraining = false;
  }

  private dispatch(batch: OperationJob[]): void {
    const sent = this.commitBatch(batch, this.settled()).then(() => {
      this.inFlight.shift();
      if (!this.isDraining && this.queue.length > 0) void this.drainQueue();
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

  private decideAll(
    view: DecisionView,
    batch: OperationJob[],
    changing: Set<string>,
  ): { jobs: OperationJob[]; attempts: Attempt<unknown>[] } {
    const jobs: OperationJob[] = [];
    const attempts: Attempt<unknown>[] = [];
    for (const job of batch) {
      if (!isStillAuthorized(job.caller)) {
        this.resolveJob(job, unauthorizedProblem());
        continue;
      }
      // Said of one attempt only: whoever is decided again asks the store again.
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
        // A bug in one command must not take its neighbours down.
        job.reject(bug);
      }
    }
    return { jobs, attempts };
  }

  /**
   * Where others write too, a unit must not stand on a head that an earlier one is about to make: if that one is
   * refused, another's head may have the same seq, and the store could not tell them apart.
   */
  private dependsOnPending({ swaps, checks }: Transaction, changing: Set<string>): boolean {
    if (this.services.store.capabilities.single_writer) return false;
    const isChanging = ({ subject }: { subject: string }) => {
      for (const subjects of this.changingByBatch) if (subjects.has(subject)) return true;
      return false;
    };
    const isDependent = swaps.some(isChanging) || checks.some(isChanging);
    // Also of a unit that has to wait: what it tried stays on trial until its batch has ended.
    for (const { subject } of swaps) changing.add(subject);
    return isDependent;
  }

  private fetchThenRetry(job: OperationJob, fetch: () => Promise<void>): void {
    job.tries += 1;
    if (job.tries > TRIES_MAX) this.resolveJob(job, contentionProblem());
    else {
      fetch().then(
        () => this.requeue([job]),
        (error) => this.resolveJob(job, problemFromError(error)),
      );
    }
  }

  private requeue(jobs: readonly OperationJob[]): void {
    this.queue.unshift(...jobs);
    if (!this.isDraining) void this.drainQueue();
  }

  private async settleAll(
    jobs: OperationJob[],
    attempts: Attempt<unknown>[],
    outcomes: CommitOutcome[],
  ): Promise<void> {
    const retry: OperationJob[] = [];
    let isBehind = false;
    let hasMoved = false;
    for (let index = 0; index < outcomes.length; index += 1) {
      const outcome = outcomes[index]!;
      const job = jobs[index]!;
      const attempt = attempts[index]!;
      switch (outcome.kind) {
        case 'committed':
          isBehind = this.applyCommit(attempt.transaction, outcome) || isBehind;
          hasMoved = hasMoved || outcome.positions.length > 0;
          this.services.observer.committed(this.key, attempt.transaction);
          this.resolveJob(job, attempt.reply);
          break;
        case 'replay':
          void this.resolveReplay(job, outcome);
          break;
        case 'conflict':
          isBehind = this.applyConflict(outcome) || isBehind;
          this.scheduleRetry(job, retry);
          break;
        case 'full':
          job.exhaustedLimit = limitNameOfScope(outcome.scope);
          this.scheduleRetry(job, retry);
          break;
        default:
          this.scheduleRetry(job, retry);
      }
    }
    const latest = outcomes.at(-1);
    if (latest !== undefined) this.services.storeTime.sync(latest.now_ms);
    if (isBehind) await this.catchUpBeforeRetry(retry);
    if (hasMoved) this.changeNotifier.notify();
    this.queue.unshift(...retry);
  }

  /** What was committed is told already; who must decide anew cannot do so on a view that is known to be old. */
  private async catchUpBeforeRetry(retry: OperationJob[]): Promise<void> {
    try {
      await this.refresh();
    } catch (error) {
      const failure = problemFromError(error);
      for (const job of retry.splice(0)) this.resolveJob(job, failure);
    }
  }

  private scheduleRetry(job: OperationJob, retry: OperationJob[]): void {
    job.tries += 1;
    if (job.tries > TRIES_MAX) this.resolveJob(job, contentionProblem());
    else retry.push(job);
  }

  /** Takes a commit into the view; true when others have committed in between. */
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
        'This request_id was used before with another body. Use a new request_id for a new command.';
      return this.resolveJob(job, problem('IDEMPOTENCY_CONFLICT', detail));
    }
    try {
      const events = await eventsAt(this, request.positions);
      this.resolveJob(job, request.reply ?? job.operation.replay(events, this.view()));
    } catch (error) {
      this.resolveJob(job, problemFromError(error));
    }
  }

  private async catchUp(): Promise<void> {
    for (;;) {
      const row = await this.store.project(this.key);
      if (row === null) return;
      // The rules are read after the events that changed them, so what is decided under a number has seen them.
      if (row.position > this.state.position) {
        await readEventsUntil(this, this.state, row.position);
        this.changeNotifier.notify();
      }
      this.rules_seq = Math.max(this.rules_seq, row.rules_seq);
      if (row.position === this.state.position) return;
    }
  }

  private async load(): Promise<void> {
    this.services.storeTime.sync(await this.store.now());
    const rulesSeq = await loadWorkState(this, this.state);
    if (rulesSeq === null) return;
    this.rules_seq = rulesSeq;
    await this.refresh();
  }
}

const contentionProblem = (): Problem =>
  problem('UNAVAILABLE', 'Too many others change the same work at once. Nothing happened; try again.');

function problemFromError(error: unknown): Problem {
  return (
    problemFromStoreError(error) ??
    problem('UNKNOWN', `It may have happened; retry with the same request_id: ${describeUncertainty(error)}`)
  );
}

/** What a broken store says of itself names files of this machine: that is for its operator. */
function describeUncertainty(error: unknown): string {
  if (error instanceof StoreBroken) return 'the store has stopped, and its operator has to start it again.';
  return error instanceof Error ? error.message : String(error);
}
