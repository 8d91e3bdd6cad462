import type { EventEnvelope } from '../../core/events/envelope.js';
import { assertSchemaVersion } from '../migrator.js';
import { SqlStore } from '../sql/sql-store.js';
import {
  type CommitOutcome,
  type EventQuery,
  type ProjectKey,
  type ProjectsWithPermitsPage,
  StoreRefused,
  type Transaction,
} from '../store.js';
import { assertWellFormed } from '../well-formed.js';
import { CommitBatch } from './batch.js';
import { PostgresBlobs } from './blobs.js';
import { sendBatch } from './commit.js';
import { PostgresPool } from './connection.js';
import { toOpeningError } from './errors.js';
import { bodyOf, type EventRow, eventFromRow, eventStatement } from './events.js';
import { schemaVersion } from './migrator.js';
import type { PostgresOptions } from './options.js';
import { runPreflight } from './preflight.js';
import { sql } from './queries.js';
import { migrationSteps, readRole } from './schema.js';
import { SimpleBatch } from './simple-batch.js';

export { openPostgresMigrator } from './migrator.js';

/** Opens the schema that `gen migrate` created; creates nothing itself. */
export async function openPostgresStore(
  options: PostgresOptions,
  { usesSimpleCommits = true } = {},
): Promise<PostgresStore> {
  const { namespace } = options;
  const connections = await PostgresPool.make(options);
  try {
    const role = await connections.withClient(async (client) => {
      await runPreflight(client, options);
      const version = await schemaVersion(client, namespace);
      assertSchemaVersion(`The schema ${namespace}`, version, migrationSteps(namespace));
      const { rows } = await client.query(sql('read_role', { read_role: readRole(namespace) }));
      return rows[0].role as string;
    });
    return new PostgresStore(connections, namespace, role, usesSimpleCommits);
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
  /** Blobs in the same database, for servers without other blob storage. */
  readonly blobs: PostgresBlobs;

  constructor(
    private readonly connections: PostgresPool,
    private readonly namespace: string,
    /** The role that sees the rows of one tenant only. */
    private readonly readRole: string,
    /** Whether `commit_simple` may be used. Tests turn it off, to compare its results with those of `commit_batch`. */
    private readonly usesSimpleCommits: boolean,
  ) {
    super();
    this.blobs = new PostgresBlobs(connections, namespace, readRole);
  }

  async events(projectKey: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    if (query.types?.length === 0) return [];
    const statement = eventStatement(this.namespace, projectKey, query);
    const names = [projectKey.tenant_id, projectKey.project_id] as const;
    const rows = await this.connections.queryAsTenant<EventRow>(this.readRole, names, statement);
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

  async dueProjects(limit: number): Promise<ProjectKey[]> {
    return this.projectsOf(await this.query('due_projects', null, this.latestMs, Math.floor(limit)));
  }

  async projectsWithPermits({ after, limit }: ProjectsWithPermitsPage): Promise<ProjectKey[]> {
    const names = [after?.tenant_id ?? null, after?.project_id ?? null];
    return this.projectsOf(await this.query('held_projects', null, ...names, Math.floor(limit)));
  }

  protected async commitBatch(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    for (const transaction of transactions) assertWellFormed(transaction);
    const simple = this.usesSimpleCommits ? SimpleBatch.of(transactions) : null;
    if (simple !== null) {
      const reply = await this.send('commit_simple', simple.values());
      if (reply !== null) return simple.outcomes(reply);
    }
    const batch = new CommitBatch(transactions);
    return batch.outcomes((await this.send('commit', batch.values())) as string);
  }

  /**
   * The first name is the tenant. The second is set as the project whose rows the role sees; for `count_permits` it is
   * a scope, which does no harm, because that statement reads no rows of a project.
   */
  protected query(name: string, names: readonly string[] | null = null, ...values: unknown[]) {
    const statement = { text: this.text(name), values: [...(names ?? []), ...values] };
    if (names === null) return this.connections.query(statement);
    return this.connections.queryAsTenant(this.readRole, names as [string, string?], statement);
  }

  protected headRows({ tenant_id, project_id }: ProjectKey, subjects: readonly string[]) {
    return this.query('heads', [tenant_id, project_id], subjects);
  }

  protected nameFromColumn(column: unknown): string {
    return String(column);
  }

  private send(name: string, values: readonly unknown[]): Promise<string | null> {
    return sendBatch(this.connections, this.namespace, name, values);
  }

  private text(name: string): string {
    return sql(name, { namespace: this.namespace });
  }
}
