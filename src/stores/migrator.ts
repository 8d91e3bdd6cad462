import { StoreRefused } from './store.js';

/**
 * Migrates a database's schema to the version this program requires. Safe to run concurrently: one process applies the
 * steps; the others wait and find nothing to do, or are refused meanwhile.
 */
export interface Migrator {
  /** `found` 0: there is no schema yet. */
  status(): Promise<{ readonly found: number; readonly wanted: number }>;
  /** The steps that `up` would apply now, each with its statements. */
  pending(): Promise<readonly MigrationStep[]>;
  /** Applies the pending steps and returns them. Rejects with `StoreRefused` if the schema is newer than this program. */
  up(): Promise<readonly MigrationStep[]>;
  /** The features that the operator may enable besides the schema. Absent: this database has no such features. */
  readonly features?: DatabaseFeatures;
  close(): Promise<void>;
}

export type DatabaseFeature = 'point_in_time_recovery' | 'streams';

/** Features are switched on when the operator asks for them, and never switched off. */
export interface DatabaseFeatures {
  /** The steps that `enable` would apply now. May be called before the schema exists. */
  pending(wanted: readonly DatabaseFeature[]): Promise<readonly DatabaseFeatureStep[]>;
  /** Applies the pending steps and returns them. The schema must exist. */
  enable(wanted: readonly DatabaseFeature[]): Promise<readonly DatabaseFeatureStep[]>;
}

export interface DatabaseFeatureStep {
  readonly feature: DatabaseFeature;
  readonly table: string;
  readonly statement: string;
}

export interface MigrationStep {
  readonly version: number;
  readonly name: string;
  readonly statements: readonly string[];
}

/** The steps that a schema still needs. `schema` names it in the error. */
export function stepsAfter<Step extends MigrationStep>(
  schema: string,
  found: number,
  steps: readonly Step[],
): readonly Step[] {
  if (found <= steps.length) return steps.slice(found);
  throw new StoreRefused(`${schema} has version ${found}, newer than this program: update genesis-fleet.`);
}

/** Throws `StoreRefused` if a schema does not have the version that this program needs. */
export function assertSchemaVersion(schema: string, found: number, steps: readonly MigrationStep[]): void {
  if (stepsAfter(schema, found, steps).length === 0) return;
  const fault =
    found === 0 ? 'does not exist' : `has version ${found}, and this program needs ${steps.length}`;
  throw new StoreRefused(`${schema} ${fault}. Run: gen migrate --store URL`);
}
