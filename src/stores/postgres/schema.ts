import type { MigrationStep } from '../migrator.js';
import { readSqlFile, splitStatements } from '../sql-file.js';
import { REQUEST_WINDOW_MS, REQUESTS_MAX } from '../store.js';
import { OUTCOME_CODE } from './batch.js';

/** The schema version this program requires. */
export const SCHEMA_VERSION = 2;

/** How long the engine keeps the outcome of a batch, for a coordinator that lost the reply. */
const BATCH_WINDOW_MS = 5 * 60_000;

const SCHEMA = readSqlFile(new URL('./schema.sql', import.meta.url));
const COMMIT = readSqlFile(new URL('./commit.sql', import.meta.url), {
  ...OUTCOME_CODE,
  batch_window_ms: BATCH_WINDOW_MS,
  request_window_ms: REQUEST_WINDOW_MS,
  requests_max: REQUESTS_MAX,
});

/** May only execute the commit and the redaction; it can change nothing else. */
export const writeRole = (namespace: string): string => `${namespace}_write`;
/** Owns nothing, and sees only the rows of the tenant that its transaction names. */
export const readRole = (namespace: string): string => `${namespace}_read`;

/** Every table with a tenant column. */
const TENANT_TABLES = ['project', 'head', 'event', 'note', 'request', 'scope', 'slot', 'blob'];

export function migrationSteps(namespace: string): readonly MigrationStep[] {
  const values = { namespace, write_role: writeRole(namespace), read_role: readRole(namespace) };
  const statements = (name: string) => splitStatements(SCHEMA(name, values));
  const forEach = (tables: readonly string[], name: string) =>
    tables.flatMap((table) => splitStatements(SCHEMA(name, { table })));
  return [
    {
      version: 1,
      name: 'heads, events, requests, slots, blobs and the commit',
      statements: [
        ...statements('tables'),
        ...['decide', 'forget', 'commit_batch'].map((name) => COMMIT(name)),
        ...statements('commit_settings'),
        ...forEach([...TENANT_TABLES, 'batch'], 'policy_of_the_commit'),
        ...forEach(TENANT_TABLES, 'policy_of_the_tenant'),
        ...statements('access'),
      ],
    },
    {
      version: 2,
      name: 'forgetting what was said, for retention',
      statements: statements('redaction'),
    },
  ];
}
