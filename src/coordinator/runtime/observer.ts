import type { LogStep, ProjectKey, Transaction } from '../../stores/store.js';

/** Observes replies and commits, for metrics, never for decisions. It is called after a commit is durable. */
export interface Observer {
  /** A command was answered. `kind` is its name, such as `claim` or `renew`. */
  answered(projectKey: ProjectKey, kind: string, reply: unknown): void;
  /** A transaction was committed, with its heads and events. */
  committed(projectKey: ProjectKey, transaction: Transaction): void;
  /** One event of a claim was committed, with its head. */
  stepCommitted(projectKey: ProjectKey, step: LogStep): void;
  /** One store call took `tookMs` for `transactionCount` transactions. */
  flushed(transactionCount: number, tookMs: number): void;
}

export const noopObserver: Observer = { answered() {}, committed() {}, stepCommitted() {}, flushed() {} };
