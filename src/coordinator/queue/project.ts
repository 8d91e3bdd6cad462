import type { Limits } from '../../core/claims/policy.js';
import { emptyWork, type WorkState } from '../../core/views/index.js';
import {
  type CompletedRequest,
  type DurableListener,
  isLogStore,
  type Permit,
  type ProjectKey,
  type Store,
  type StoreMeta,
} from '../../stores/store.js';
import { type Caller, OPEN_CALLER } from '../authentication/caller.js';
import { EventHistory } from '../queries/history.js';
import type { Environment } from '../runtime/environment.js';
import { claimIdSecretOf } from '../runtime/identity.js';
import { runInSlices } from '../runtime/run-in-slices.js';
import {
  type AsyncReply,
  catchStoreErrors,
  type Problem,
  problem,
  problemFromError,
} from '../wire/problem.js';
import type { Backoff } from './backoff.js';
import { ChangeNotifier } from './change-notifier.js';
import type { CommitPath, CommittingProject, OperationJob, ProjectServices } from './commit-path.js';
import { DecisionView } from './decision-view.js';
import { eventsAt } from './load-work-state.js';
import { LogCommits } from './log-commits.js';
import type { Operation } from './operation.js';
import { SESSIONS_SCOPE } from './permit-limits.js';
import { REFUSAL_EVENT_TYPES, RefusalCounter } from './refusal-counter.js';
import { RulesCache } from './rules-cache.js';
import { SharedCommits } from './shared-commits.js';

/** Maximum number of commands in a batch: few enough that the next batch is decided while this one is written. */
const BATCH_MAX = 256;
const QUEUE_MAX = 100_000;
/** Maximum number of commands under way that were decided on arrival. Those beyond it are queued. */
const DECIDED_ON_ARRIVAL_MAX = 1024;
/** Maximum number of tries per operation. Conflicts, exhausted limits and reads that it needs first all count. */
const TRIES_MAX = 100;

/**
 * A loaded project. Commands queue here, and batches of them are decided and committed as the kind of store allows.
 * There is no batching timer: a single command does not wait for others, and commands that arrive together share a write.
 */
export class Project implements CommittingProject {
  state: WorkState = emptyWork();
  rules_seq = 0;
  /** The time until which each session counts as active: only what this coordinator has written since it loaded the state. */
  readonly sessionUntilMs = new Map<string, number>();
  /** Notifies whenever the project's state changes. */
  readonly changeNotifier = new ChangeNotifier();
  onDurable: DurableListener | null = null;
  private queue: OperationJob[] = [];
  private isDraining = false;
  private readonly commitPath: CommitPath;
  /** Batches sent to the store, in sending order. They complete in that order. */
  private readonly inFlight: Promise<void>[] = [];
  private refreshing: Promise<void> | null = null;
  private rebuilding: Promise<void> | null = null;

  readonly claimIdSecret: string;
  readonly rulesCache: RulesCache;
  readonly refusals: RefusalCounter;

  private constructor(
    readonly key: ProjectKey,
    readonly services: ProjectServices,
  ) {
    const { meta, store } = services;
    this.claimIdSecret = claimIdSecretOf(meta, key);
    this.rulesCache = new RulesCache(services.skewMarginMs);
    const history = new EventHistory(store, services.environment);
    this.refusals = new RefusalCounter((subject, visit) =>
      history.forEach(key, { subject, types: REFUSAL_EVENT_TYPES }, visit),
    );
    this.commitPath = isLogStore(store) ? new LogCommits(this, store) : new SharedCommits(this);
  }

  static async load(projectKey: ProjectKey, services: ProjectServices): Promise<Project> {
    const project = new Project(projectKey, services);
    services.storeTime.sync(await services.store.now());
    await project.reload();
    return project;
  }

  /** Loads the state from the store again. */
  async reload(): Promise<void> {
    const { state, rules_seq } = await this.commitPath.load();
    this.state = state;
    this.rules_seq = rules_seq;
    this.sessionUntilMs.clear();
    this.refusals.clear();
  }

  /** Called when the project is unloaded. A command that arrives afterwards is still decided. */
  release(): void {
    this.commitPath.release();
  }

  get limits(): Limits {
    return this.services.limits();
  }
  get environment(): Environment {
    return this.services.environment;
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
   * Decides an operation, on arrival or from the queue, and resolves with its reply or a problem. The caller is
   * re-authorized when the operation is decided, because it may have queued for long. The coordinator's own operations use
   * the default caller.
   */
  run<Reply>(operation: Operation<Reply>, caller: Caller = OPEN_CALLER): Promise<Reply | Problem> {
    if (this.queue.length >= QUEUE_MAX) {
      return Promise.resolve(problem('UNAVAILABLE', 'Too many commands are queued. Retry in a moment.'));
    }
    // Only if the queue is empty, so that no command overtakes another.
    const decided = this.queue.length === 0 ? this.commitPath.decideNow?.(operation, caller) : null;
    if (decided != null) return decided as Promise<Reply | Problem>;
    return new Promise((resolve, reject) => {
      const job: OperationJob = {
        operation: operation as Operation<unknown>,
        caller,
        resolve: resolve as (reply: unknown) => void,
        reject,
        tries: 0,
        reachedLimit: null,
      };
      if (this.canDecideOnArrival()) this.dispatch([job]);
      else this.enqueue(job);
    });
  }

  private canDecideOnArrival(): boolean {
    const isBusy = this.queue.length > 0 || this.inFlight.length >= DECIDED_ON_ARRIVAL_MAX;
    return !isBusy && this.commitPath.decidesOnArrival;
  }

  private enqueue(job: OperationJob): void {
    this.queue.push(job);
    void this.drainQueue();
  }

  /** Reads what other coordinators have committed. Cheap if this one is the only writer. */
  refresh(): Promise<void> {
    this.refreshing ??= this.commitPath.refresh().finally(() => {
      this.refreshing = null;
    });
    return this.refreshing;
  }

  /** Rebuilds the frontier after a plan change, in slices. A caller that needs a later version must call again. */
  rebuildFrontier(): Promise<void> {
    this.rebuilding ??= runInSlices(
      this.state.frontier.rebuildInSlices(this.state),
      this.environment,
    ).finally(() => {
      this.rebuilding = null;
    });
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

  private dispatch(batch: readonly OperationJob[]): void {
    const sent = this.commitPath.commitBatch(batch, this.settled()).then(() => {
      this.inFlight.shift();
      if (this.queue.length > 0) void this.drainQueue();
    });
    this.inFlight.push(sent);
  }

  /** Runs a query on the state. Resolves when everything the result may depend on is durable. */
  readDurable<T>(query: () => AsyncReply<T>): AsyncReply<T> {
    return catchStoreErrors(() => this.commitPath.readDurable(query));
  }

  resolveJob(job: OperationJob, reply: unknown): void {
    this.services.observer.answered(this.key, job.operation.kind, reply);
    job.resolve(reply);
  }

  requeueFirst(jobs: readonly OperationJob[]): void {
    this.queue.unshift(...jobs);
  }

  requeueLast(job: OperationJob): void {
    this.queue.push(job);
  }

  fetchThenRetry(job: OperationJob, fetch: () => Promise<void>): void {
    if (!this.countTryOrGiveUp(job)) return;
    fetch().then(
      () => {
        this.requeueFirst([job]);
        void this.drainQueue();
      },
      (error) => this.resolveJob(job, problemFromError(error)),
    );
  }

  /** Counts an attempt. After too many it answers the job with a problem, and returns false. */
  countTryOrGiveUp(job: OperationJob): boolean {
    job.tries += 1;
    if (job.tries <= TRIES_MAX) return true;
    const detail = 'Too many concurrent changes to the same work. Nothing happened; retry.';
    this.resolveJob(job, problem('UNAVAILABLE', detail));
    return false;
  }

  rememberSessionPermits(permits: readonly Permit[]): void {
    for (const permit of permits) {
      if (permit.scope !== SESSIONS_SCOPE) continue;
      if (permit.until_ms === null) this.sessionUntilMs.delete(permit.member);
      else this.sessionUntilMs.set(permit.member, permit.until_ms);
    }
  }

  async resolveReplay(job: OperationJob, request: CompletedRequest): Promise<void> {
    job.operation.withdraw?.();
    if (request.digest !== job.operation.requestKey?.digest) {
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
}
