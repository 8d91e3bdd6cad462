import type { EventEnvelope } from '../../core/events/envelope.js';
import { assertSchemaVersion } from '../migrator.js';
import { SqlStore } from '../sql/sql-store.js';
import {
  type CommitOutcome,
  type EventQuery,
  type ProjectKey,
  StoreRefused,
  type Transaction,
} from '../store.js';
import { bodyOf, CommitBatch } from './batch.js';
import { PostgresBlobs } from './blobs.js';
import { sendBatch } from './commit.js';
import { PostgresPool } from './connection.js';
import { toOpeningError } from './errors.js';
import { type EventRow, eventFromRow, eventStatement } from './events.js';
import { schemaVersion } from './migrator.js';
import type { PostgresOptions } from './options.js';
import { runPreflight } from './preflight.js';
import { sql } from './queries.js';
import { migrationSteps, readRole } from './schema.js';

export { openPostgresMigrator } from './migrator.js';

/** Opens what `gen migrate` created; creates nothing itself. */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  const { namespace } = options;
  const connections = await PostgresPool.make(options);
  try {
    const role = await connections.withClient(async (client) => {
      await runPreflight(client, options);
      const found = await schemaVersion(client, namespace);
      assertSchemaVersion(`The schema ${namespace}`, found, migrationSteps(namespace));
      const { rows } = await client.query(sql('read_role', { read_role: readRole(namespace) }));
      return rows[0].role as string;
    });
    return new PostgresStore(connections, namespace, role);
  } catch (error) {
    await connections.close();
    throw error instanceof StoreRefused ? error : toOpeningError(error, options);
  }
}

export class PostgresStore extends SqlStore {
  readonly capabilities = {
    name: 'postgres',
    clock: 'store',
    single_writer: false,
    commits_at_once: 2,
    durable: true,
  } as const;
  /** Stored in the same database, for servers without other blob storage. */
  readonly blobs: PostgresBlobs;

  constructor(
    private readonly connections: PostgresPool,
    private readonly namespace: string,
    /** Sees the rows of one tenant only. */
    private readonly role: string,
  ) {
    super();
    this.blobs = new PostgresBlobs(connections, namespace, role);
  }

  async events(projectKey: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    if (query.types?.length === 0) return [];
    const statement = eventStatement(this.namespace, projectKey, query);
    const rows = await this.connections.queryAsTenant<EventRow>(projectKey.tenant_id, this.role, statement);
    return rows.map((row) => eventFromRow(projectKey, row));
  }

  async redact({ tenant_id, project_id }: ProjectKey, events: readonly EventEnvelope[]): Promise<void> {
    const positions = events.map(({ position }) => position);
    const values = [tenant_id, project_id, positions, events.map(bodyOf)];
    await this.connections.query({ text: this.text('redact'), values });
  }

  close(): Promise<void> {
    return this.connections.close();
  }

  protected async commitBatch(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    const batch = new CommitBatch(transactions);
    return batch.outcomes(await sendBatch(this.connections, this.namespace, batch.values()));
  }

  protected query(name: string, names: readonly string[] | null = null, ...values: unknown[]) {
    const statement = { text: this.text(name), values: [...(names ?? []), ...values] };
    const tenantId = names?.[0];
    if (tenantId === undefined) return this.connections.query(statement);
    return this.connections.queryAsTenant(tenantId, this.role, statement);
  }

  protected headRows({ tenant_id, project_id }: ProjectKey, subjects: readonly string[]) {
    return this.query('heads', [tenant_id, project_id], subjects);
  }

  protected nameOf(column: unknown): string {
    return String(column);
  }

  private text(name: string): string {
    return sql(name, { namespace: this.namespace });
  }
}
