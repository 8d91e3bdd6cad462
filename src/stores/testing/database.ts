/** A real database that a test started, or found through its URL variable. */
export interface TestDatabase {
  readonly url: string;
  /** Kills the database as a power cut would, and restarts it on the same data and port. Absent: it is not ours to kill. */
  readonly restart?: () => Promise<void>;
  /** The two halves of a restart. */
  readonly halt?: () => Promise<void>;
  readonly boot?: () => Promise<void>;
  /** Stops the process with SIGSTOP, until `thaw` sends SIGCONT. Resolves when it is stopped. */
  readonly freeze?: () => Promise<void>;
  readonly thaw?: () => void;
  stop(): Promise<void>;
}

/** Why a database is not available here, for the summary of tests that did not run. */
export interface MissingDatabase {
  readonly missing: string;
}

/** `STORES=file,postgres` limits what is tested. */
export function isSelected(name: string): boolean {
  const stores = process.env.STORES;
  return stores === undefined || stores === '' || stores.split(',').includes(name);
}

export const NOT_SELECTED: MissingDatabase = { missing: 'not in STORES' };

/** Returns the second database of a kind, or throws if it could not be started although the first one was. */
export function requireDatabase<Database extends TestDatabase>(
  database: Database | MissingDatabase,
): Database {
  if ('missing' in database) throw new Error(`A second database cannot be started: ${database.missing}.`);
  return database;
}
