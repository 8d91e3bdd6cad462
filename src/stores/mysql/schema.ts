import type { MigrationStep } from '../migrator.js';
import { readSqlFile, splitStatements } from '../sql-file.js';
import { REQUEST_WINDOW_MS, REQUESTS_MAX } from '../store.js';

const SCHEMA = readSqlFile(new URL('./schema.sql', import.meta.url));
const COMMIT = readSqlFile(new URL('./commit.sql', import.meta.url), {
  request_window_ms: REQUEST_WINDOW_MS,
  requests_max: REQUESTS_MAX,
});
const PROCEDURES = ['count_places', 'take_places_in_turn', 'commit_batch'];

export const databaseStatements = (namespace: string): string[] =>
  splitStatements(SCHEMA('database', { namespace }));

/** DDL commits implicitly, so every statement is repeatable: an interrupted step is simply run again. */
export const MIGRATIONS: readonly MigrationStep[] = [
  {
    version: 1,
    name: 'heads, events, requests, places, and the procedures that commit',
    statements: [
      ...splitStatements(SCHEMA('tables')),
      ...PROCEDURES.flatMap((procedure) => [SCHEMA('drop_procedure', { procedure }), COMMIT(procedure)]),
    ],
  },
];

export const SCHEMA_VERSION = MIGRATIONS.length;
