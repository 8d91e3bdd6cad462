import type { MigrationStep } from '../migrator.js';
import { readSqlFile, splitStatements } from '../sql-file.js';
import { REQUEST_WINDOW_MS, REQUESTS_MAX } from '../store.js';
import { FOREVER_MS } from './batch.js';
import { BLOCK_EVENTS, NAMED_FIELDS } from './event-blocks.js';

const CONSTANTS = { forever_ms: FOREVER_MS, block_events: BLOCK_EVENTS };
const SCHEMA = readSqlFile(new URL('./schema.sql', import.meta.url), {
  ...CONSTANTS,
  // In version 1, claims were the only permits on heads, and rows did not mark them.
  claims_scope: 'claims',
});
const COMMIT = readSqlFile(new URL('./commit.sql', import.meta.url), {
  ...CONSTANTS,
  request_window_ms: REQUEST_WINDOW_MS,
  requests_max: REQUESTS_MAX,
});
const PROCEDURES = ['count_permits', 'take_permits_in_turn', 'commit_batch', 'commit_common', 'due_projects'];
const PROCEDURES_OF_V1 = ['count_places', 'take_places_in_turn', 'commit_batch'];

export const databaseStatements = (namespace: string): string[] =>
  splitStatements(SCHEMA('database', { namespace }));

const dropProcedure = (procedure: string): string => SCHEMA('drop_procedure', { procedure });
const tablesOfV1 = splitStatements(SCHEMA('tables_1'));

/** Statements that fill `event_name` from the events of version 1, in which each field has a column. */
const copyNames = NAMED_FIELDS.map((column, field) => {
  const condition = column === 'task_id' ? 'NOT (o.task_id <=> o.subject)' : 'TRUE';
  return SCHEMA('copy_names', { field, column, condition: `o.${column} IS NOT NULL AND ${condition}` });
});

/** DDL commits implicitly, so every statement is repeatable: an interrupted step is simply run again. */
export const MIGRATIONS: readonly MigrationStep[] = [
  { version: 1, name: 'heads, events, requests, permits', statements: tablesOfV1 },
  {
    version: 2,
    name: 'rows by project number, permits on heads, blocks of events, and the procedures that commit',
    statements: [
      ...PROCEDURES_OF_V1.map(dropProcedure),
      ...splitStatements(SCHEMA('tables')),
      // Created again, in case an earlier migration was interrupted while it dropped them.
      ...tablesOfV1,
      ...splitStatements(SCHEMA('copy')),
      ...copyNames,
      SCHEMA('drop_tables_1'),
      ...PROCEDURES.flatMap((procedure) => [dropProcedure(procedure), COMMIT(procedure)]),
    ],
  },
];

export const SCHEMA_VERSION = MIGRATIONS.length;
