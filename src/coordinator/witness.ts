import type { ProjectKey, Unit } from '../stores/store.js';

/** Somebody who looks on: for metrics, never for decisions. What it is told has happened, durably. */
export interface Witness {
  /** A command was answered. `kind` is its name, as `claim` or `renew`. */
  answered(key: ProjectKey, kind: string, reply: unknown): void;
  /** A unit was committed, with its heads and events. */
  committed(key: ProjectKey, unit: Unit): void;
  /** One call of the store took so long for so many units. */
  flushed(unit_count: number, took_ms: number): void;
}

export const NOBODY: Witness = { answered() {}, committed() {}, flushed() {} };
