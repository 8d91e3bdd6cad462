import type { ProjectKey, Transaction } from '../stores/store.js';

/** Somebody who looks on: for metrics, never for decisions. What it is told has happened, durably. */
export interface Observer {
  /** A command was answered. `kind` is its name, as `claim` or `renew`. */
  answered(key: ProjectKey, kind: string, reply: unknown): void;
  /** A unit was committed, with its heads and events. */
  committed(key: ProjectKey, transaction: Transaction): void;
  /** One call of the store took so long for so many units. */
  flushed(transactionCount: number, tookMs: number): void;
}

export const noopObserver: Observer = { answered() {}, committed() {}, flushed() {} };
