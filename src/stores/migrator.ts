/**
 * Brings an engine's schema to the version this program speaks. Safe when many run it at once: the steps are taken
 * once, by one of them, and the others wait and find nothing to do.
 */
export interface Migrator {
  /** `found` 0: nothing is there yet. */
  status(): Promise<{ readonly found: number; readonly wanted: number }>;
  /** The steps that `up` would take now, each with the statements it would run. */
  pending(): Promise<readonly MigrationStep[]>;
  /** Takes them, and says which it took. A newer schema than this program knows is `StoreRefused`. */
  up(): Promise<readonly MigrationStep[]>;
  close(): Promise<void>;
}

export interface MigrationStep {
  readonly version: number;
  readonly name: string;
  readonly statements: readonly string[];
}
