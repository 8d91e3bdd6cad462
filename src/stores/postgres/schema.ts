import type { MigrationStep } from '../migrator.js';
import { readSqlFile, splitStatements } from '../sql-file.js';
import { REQUEST_WINDOW_MS, REQUESTS_MAX } from '../store.js';
import { OUTCOME_CODE } from './batch.js';
import { NAMES_SQL } from './event-names.js';

/** The schema version this program requires. */
export const SCHEMA_VERSION = 6;

/** How long the database keeps the outcome of a batch, for a coordinator that lost the reply. */
const BATCH_WINDOW_MS = 5 * 60_000;

/** The SQLSTATE that makes `commit_simple` undo what it has written. */
const NOT_SIMPLE = 'GF001';

/** Number of projects that the database reads at a time to find those that are due. */
const DUE_PAGE = 100;

const SCHEMA = readSqlFile(new URL('./schema.sql', import.meta.url), NAMES_SQL);
const COMMIT = readSqlFile(new URL('./commit.sql', import.meta.url), {
  ...OUTCOME_CODE,
  batch_window_ms: BATCH_WINDOW_MS,
  request_window_ms: REQUEST_WINDOW_MS,
  requests_max: REQUESTS_MAX,
  not_simple: NOT_SIMPLE,
  ...NAMES_SQL,
});

const READS = readSqlFile(new URL('./reads.sql', import.meta.url), { page: DUE_PAGE, ...NAMES_SQL });

/** The role that may execute the functions that write and add blobs, and can change nothing else. */
const writeRole = (namespace: string): string => `${namespace}_write`;
/** The role that owns nothing, and sees only the rows of the tenant and the project that its transaction names. */
export const readRole = (namespace: string): string => `${namespace}_read`;

/** Tables of which a reader sees the rows of its tenant, or of its project. The others are for the commit only. */
const TENANT_TABLES = ['project', 'blob'];
const PROJECT_TABLES = ['head', 'event'];
const COMMIT_TABLES = ['loose_event', 'request', 'kept_requests', 'scope', 'permit', 'batch'];

const COMMIT_FUNCTIONS = [
  'start_commit',
  'remove_ended_permits',
  'write_permits',
  'write_simple_permits',
  'write_names',
  'decide',
  'forget',
  'forget_requests',
  'commit_batch',
  'commit_simple',
];
const OTHER_FUNCTIONS = ['count_permits', 'due_projects', 'redact_events'];

/**
 * Versions 1 and 2 had other tables, which version 3 copies into its own. In a new schema, these two versions create only
 * what has not changed since. The last version that changes the functions of a commit creates them.
 */
export function migrationSteps(namespace: string): readonly MigrationStep[] {
  const values = { namespace, write_role: writeRole(namespace), read_role: readRole(namespace) };
  const statements = (name: string) => splitStatements(SCHEMA(name, values));
  const statementsForEach = (list: readonly string[], name: string, as: string) =>
    list.flatMap((item) => splitStatements(SCHEMA(name, { namespace, [as]: item })));
  return [
    {
      version: 1,
      name: 'heads, events, requests, permits, blobs and the commit',
      statements: statements('base'),
    },
    { version: 2, name: 'reduced payloads, for retention', statements: [] },
    {
      version: 3,
      name: 'lean rows, permits on heads, projects that are due',
      statements: [
        ...statements('set_old_aside'),
        ...statements('tables'),
        ...statements('copy_old'),
        ...statements('indexes'),
        ...OTHER_FUNCTIONS.map((name) => READS(name)),
        ...statements('read_settings'),
        ...statementsForEach(
          [...TENANT_TABLES, ...PROJECT_TABLES, ...COMMIT_TABLES],
          'commit_policy',
          'table',
        ),
        ...statementsForEach(TENANT_TABLES, 'tenant_policy', 'table'),
        ...statementsForEach(PROJECT_TABLES, 'project_policy', 'table'),
        ...statements('access'),
      ],
    },
    {
      version: 4,
      name: 'projects with claims',
      statements: [READS('held_projects'), ...statements('held_settings')],
    },
    {
      version: 5,
      name: 'list of tenants',
      statements: [READS('tenants'), ...statements('tenants_settings')],
    },
    {
      version: 6,
      name: 'one index of the names of events',
      statements: [
        ...statements('names'),
        `DROP FUNCTION IF EXISTS ${COMMIT_FUNCTIONS.join()}`,
        ...COMMIT_FUNCTIONS.map((name) => COMMIT(name)),
        READS('events_named'),
        ...statementsForEach(
          ['commit_batch', 'commit_simple', 'events_named'],
          'function_settings',
          'function',
        ),
        ...statements('function_access'),
      ],
    },
  ];
}
