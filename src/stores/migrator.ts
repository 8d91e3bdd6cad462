/**
 * Migrates an engine's schema to the version this program requires. Safe to run concurrently: one runner applies the
 * steps, the others wait and find nothing to do.
 */
export interface Migrator {
  /** `found` 0: there is no schema yet. */
  status(): Promise<{ readonly found: number; readonly wanted: number }>;
  /** The steps that `up` would apply now, each with its statements. */
  pending(): Promise<readonly MigrationStep[]>;
  /** Applies the pending steps and returns them. Rejects with `StoreRefused` if the schema is newer than this program. */
  up(): Promise<readonly MigrationStep[]>;
  close(): Promise<void>;
}

export interface MigrationStep {
  readonly version: number;
  readonly name: string;
  readonly statements: readonly string[];
}
