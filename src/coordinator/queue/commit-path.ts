import type { Caller } from '../authentication/caller.js';
import type { AsyncReply } from '../wire/problem.js';
import type { Operation } from './operation.js';

/** A command that waits for its decision. */
export interface OperationJob {
  readonly operation: Operation<unknown>;
  readonly caller: Caller;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (bug: unknown) => void;
  tries: number;
  exhaustedLimit: string | null;
}

/** How the commands of a project are decided and committed; it depends on the kind of store. */
export interface CommitPath {
  /** Decides a batch in order. Resolves when its jobs are answered or queued again, after those of earlier batches. */
  commitBatch(batch: readonly OperationJob[], earlierBatches: Promise<void>): Promise<void>;
  /** Runs a query on the project's state. Resolves when everything the result may depend on is durable. */
  readDurable<T>(query: () => AsyncReply<T>): AsyncReply<T>;
}
