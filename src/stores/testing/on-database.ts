import { describe, it } from 'vitest';
import { isSelected, type MissingDatabase, type TestDatabase } from './database.js';
import { NOT_RUN } from './not-run.js';

/**
 * Registers tests against a real database. If it is missing, they are skipped with the reason in the closing summary, or
 * fail under `ENGINES=all`. `STORES=file,postgres` limits the stores.
 */
export const onDatabase = <Database extends TestDatabase>(
  ...registration: DatabaseTests<Database>
): Promise<void> => registerIfStarted(skipMissing, ...registration);

/**
 * Registers tests against a stand-in for a service. `npm run engines:install` does not install it, so without it the tests
 * are skipped, also under `ENGINES=all`.
 */
export const onStandIn = <Database extends TestDatabase>(
  ...registration: DatabaseTests<Database>
): Promise<void> => registerIfStarted(skipGroup, ...registration);

type DatabaseTests<Database> = readonly [
  name: string,
  start: () => Promise<Database | MissingDatabase>,
  tests: (database: Database) => void | Promise<void>,
];

async function registerIfStarted<Database extends TestDatabase>(
  skip: (name: string, reason: string) => void,
  ...[name, start, tests]: DatabaseTests<Database>
): Promise<void> {
  if (!isSelected(name)) return skipGroup(name, 'not in STORES');
  const database = await start();
  if ('missing' in database) skip(name, database.missing);
  else await tests(database);
}

/** Registers tests that kill, freeze or configure the database, which requires an exclusive one. */
export function onOwnDatabase(
  name: string,
  database: TestDatabase,
  tests: (database: Required<TestDatabase>) => void,
): void {
  if (database.restart !== undefined) tests(database as Required<TestDatabase>);
  else skipGroup(name, `GENESIS_TEST_${name.toUpperCase()} is a shared database, which tests do not restart`);
}

/** Registers tests that need a program of this machine: a browser, promtool, Python. `missing` is null if it is installed. */
export function onProgram(
  name: string,
  missing: string | null,
  tests: () => void | Promise<void>,
): void | Promise<void> {
  if (missing === null) return tests();
  skipMissing(name, missing);
}

/** With ENGINES=all, as in CI, a test that cannot run fails instead of being skipped. */
function skipMissing(name: string, reason: string): void {
  if (process.env.ENGINES !== 'all') skipGroup(name, reason);
  else {
    it(`needs ${name}`, () => {
      throw new Error(`ENGINES=all requires ${name}: ${reason}.`);
    });
  }
}

/** Skips tests that do not apply here, whatever is installed. */
export function skipGroup(name: string, reason: string): void {
  describe.skip(`${NOT_RUN}${name}`, () => it(reason, () => {}));
}
