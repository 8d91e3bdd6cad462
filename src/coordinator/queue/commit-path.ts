import type { Limits } from '../../core/claims/policy.js';
import type { GrantLimit } from '../../core/claims/reached-limit.js';
import type { WorkState } from '../../core/views/index.js';
import type { CompletedRequest, DurableListener, Permit, Store, StoreMeta } from '../../stores/store.js';
import type { Caller } from '../authentication/caller.js';
import type { Environment } from '../runtime/environment.js';
import type { Observer } from '../runtime/observer.js';
import type { AsyncReply } from '../wire/problem.js';
import type { Backoff } from './backoff.js';
import type { ChangeNotifier } from './change-notifier.js';
import type { DecisionSource } from './decision-view.js';
import type { Operation } from './operation.js';
import type { StoreTime } from './store-time.js';

/** A command that waits for its decision. */
export interface OperationJob {
  readonly operation: Operation<unknown>;
  readonly caller: Caller;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (bug: unknown) => void;
  tries: number;
  reachedLimit: GrantLimit | null;
}

export interface ProjectServices {
  readonly store: Store;
  readonly meta: StoreMeta;
  readonly environment: Environment;
  readonly storeTime: StoreTime;
  /** One per store, shared by its projects. */
  readonly backoff: Backoff;
  readonly limits: () => Limits;
  readonly skewMarginMs: number;
  readonly observer: Observer;
  /** Whether checkpoints of the log are written. */
  readonly isAudited: boolean;
}

/** The project whose commands are committed. */
export interface CommittingProject extends DecisionSource {
  readonly store: Store;
  readonly services: ProjectServices;
  readonly changeNotifier: ChangeNotifier;
  /** Called with the leaf hashes of events that have become durable. Only some stores call it. */
  onDurable: DurableListener | null;
  now(): number;
  rules_seq: number;
  /** Reads commits that did not go through this object: from other coordinators, or from an import. */
  refresh(): Promise<void>;
  /** Loads the state from the store again. */
  reload(): Promise<void>;
  /** Remembers the permits of sessions that a commit has set. */
  rememberSessionPermits(permits: readonly Permit[]): void;
  resolveJob(job: OperationJob, reply: unknown): void;
  resolveReplay(job: OperationJob, request: CompletedRequest): Promise<void>;
  requeueFirst(jobs: readonly OperationJob[]): void;
  requeueLast(job: OperationJob): void;
  fetchThenRetry(job: OperationJob, fetch: () => Promise<void>): void;
  /** Counts a try. After too many, it answers the job with a problem and returns false. */
  countTryOrGiveUp(job: OperationJob): boolean;
}

/** The state of a project as the store has it. */
export interface LoadedState {
  readonly state: WorkState;
  readonly rules_seq: number;
}

/** Decides and commits the commands of a project, in a way that depends on the kind of store. */
export interface CommitPath {
  load(): Promise<LoadedState>;
  /** Reads commits that did not go through this object: from other coordinators, or from an import. */
  refresh(): Promise<void>;
  /** Decides a batch in order. Resolves when its jobs are answered or queued again, after the jobs of earlier batches. */
  commitBatch(batch: readonly OperationJob[], earlierBatches: Promise<void>): Promise<void>;
  /** Whether `commitBatch` would decide its commands in the turn in which it is called, so that none has to be queued. */
  readonly decidesOnArrival: boolean;
  /**
   * Decides a command whose commit is a single step, and resolves with its reply. Returns null for any other command.
   * Absent if the state may be out of date, because others write to the store.
   */
  decideNow?(operation: Operation<unknown>, caller: Caller): Promise<unknown> | null;
  /** Runs a query on the project's state. Resolves when everything the result may depend on is durable. */
  readDurable<T>(query: () => AsyncReply<T>): AsyncReply<T>;
  /** Called when the project is unloaded, so that the store does not keep it in memory. */
  release(): void;
}
