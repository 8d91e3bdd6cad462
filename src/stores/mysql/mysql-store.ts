import type { Pool } from 'mysql2/promise';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { assertSchemaVersion } from '../migrator.js';
import { type SqlRow, SqlStore } from '../sql/sql-store.js';
import {
  type CommitOutcome,
  type EventQuery,
  type ProjectKey,
  type ProjectsWithPermitsPage,
  type StoreCapabilities,
  TRANSACTION_SIZE_MAX,
  type Transaction,
} from '../store.js';
import { MysqlBlobs } from './blobs.js';
import { MysqlCommitter } from './commit.js';
import { openPool, queryRows } from './connection.js';
import { toOpeningError } from './errors.js';
import { readEvents } from './events.js';
import { schemaVersion } from './migrator.js';
import { decodeName, encodeName, nameBytes } from './name-encoding.js';
import type { MysqlOptions } from './options.js';
import { runPreflight } from './preflight.js';
import { sql } from './queries.js';
import { MIGRATIONS } from './schema.js';

export { openMysqlMigrator } from './migrator.js';

/** Opens a store; creates nothing, because the schema is the migrator's task. */
export async function openMysqlStore(options: MysqlOptions): Promise<MysqlStore> {
  const { namespace } = options;
  const pool = await openPool(options);
  try {
    assertSchemaVersion(`The schema ${namespace}`, await schemaVersion(pool, namespace), MIGRATIONS);
    return new MysqlStore(pool, options, new MysqlCommitter(pool, options, await runPreflight(pool)));
  } catch (error) {
    await pool.end();
    throw toOpeningError(error, options);
  }
}

export class MysqlStore extends SqlStore {
  readonly capabilities: StoreCapabilities;
  readonly blobs: MysqlBlobs;
  private closing: Promise<void> | null = null;

  constructor(
    private readonly pool: Pool,
    private readonly options: MysqlOptions,
    private readonly committer: MysqlCommitter,
  ) {
    super();
    this.blobs = new MysqlBlobs(pool, options);
    const { events, bytes } = TRANSACTION_SIZE_MAX;
    this.capabilities = {
      name: 'mysql',
      clock: 'store',
      single_writer: false,
      commits_at_once: 2,
      durable: true,
      transaction_size_max: { events, bytes: Math.min(bytes, committer.transactionBytesMax) },
      note: 'A reader may see a commit moments before it is durable, unless the server keeps a binary log.',
    };
  }

  async events(projectKey: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    return readEvents(
      (statement, values) => queryRows(this.pool, this.options, statement, values),
      projectKey,
      query,
    );
  }

  async dueProjects(limit: number): Promise<ProjectKey[]> {
    const results = await queryRows(this.pool, this.options, sql('due_projects'), [
      this.latestMs,
      Math.floor(limit),
    ]);
    // The last result is the status of the call itself.
    return this.projectsOf(results[0] as unknown as SqlRow[]);
  }

  async projectsWithPermits({ after, limit }: ProjectsWithPermitsPage): Promise<ProjectKey[]> {
    const names = [after?.tenant_id ?? '', after?.project_id ?? ''];
    return this.projectsOf(await this.query('held_projects', names, Math.floor(limit)));
  }

  async redact(projectKey: ProjectKey, events: readonly EventEnvelope[]): Promise<void> {
    for (const { position, ...event } of events) {
      const values = [JSON.stringify(event), ...keyOf(projectKey), position];
      await queryRows(this.pool, this.options, sql('redact'), values);
    }
  }

  close(): Promise<void> {
    this.committer.close();
    // The driver sends a quit command on each connection; a lost connection is closed anyway.
    this.closing ??= this.pool.end().catch(() => {});
    return this.closing;
  }

  protected commitBatch(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    return this.committer.commit(transactions);
  }

  protected query(name: string, names: readonly string[] | null = null, ...values: number[]) {
    return queryRows(this.pool, this.options, sql(name), [...(names ?? []).map(nameBytes), ...values]);
  }

  protected headRows(projectKey: ProjectKey, subjects: readonly string[]) {
    const values = [JSON.stringify(subjects.map(encodeName)), ...keyOf(projectKey)];
    return queryRows(this.pool, this.options, sql('heads'), values);
  }

  protected nameFromColumn(column: unknown): string {
    return decodeName(String(column));
  }
}

const keyOf = ({ tenant_id, project_id }: ProjectKey): [Buffer, Buffer] => [
  nameBytes(tenant_id),
  nameBytes(project_id),
];
