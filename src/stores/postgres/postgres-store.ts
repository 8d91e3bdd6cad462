import type { EventEnvelope } from '../../core/events/envelope.js';
import {
  type CommitOutcome,
  type EventQuery,
  type ProjectKey,
  type ProjectRow,
  type Store,
  type StoreCapabilities,
  type StoredHead,
  type StoreMeta,
  StoreRefused,
  type Transaction,
} from '../store.js';
import { CommitBatch, withoutColumns } from './batch.js';
import { PostgresBlobs } from './blobs.js';
import { PostgresCommitter } from './commit.js';
import { PostgresPool, type PostgresStatement } from './connection.js';
import { toOpeningError } from './errors.js';
import { type EventRow, eventFromRow, eventStatement } from './events.js';
import type { PostgresOptions } from './options.js';
import { runPreflight } from './preflight.js';
import { readRole, SCHEMA_VERSION, versionTable } from './schema.js';

export { openPostgresMigrator } from './migrator.js';

/** Opens what `gen migrate` created; creates nothing itself. */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  const connections = await PostgresPool.make(options);
  try {
    const role = await connections.withClient(async (client) => {
      const queryRow = async (text: string) => (await client.query(text)).rows[0];
      await runPreflight(client, options);
      const { there } = await queryRow(versionTable(options.namespace));
      const { found } = there
        ? await queryRow(`SELECT max(version) AS found FROM ${options.namespace}.migration`)
        : { found: null };
      assertSchemaVersion(found, options.namespace);
      return (await queryRow(readRoleQuery(options.namespace))).role as string;
    });
    return new PostgresStore(connections, options.namespace, role);
  } catch (error) {
    await connections.close();
    throw error instanceof StoreRefused ? error : toOpeningError(error, options);
  }
}

function assertSchemaVersion(found: number | null, namespace: string): void {
  if (found === null || found < SCHEMA_VERSION) {
    const what =
      found === null ? 'is not there' : `has version ${found}, and this program wants ${SCHEMA_VERSION}`;
    throw new StoreRefused(`The schema ${namespace} ${what}. Run: gen migrate --store URL`);
  }
  if (found > SCHEMA_VERSION) {
    throw new StoreRefused(
      `The schema ${namespace} has version ${found}, newer than this program: update genesis-fleet.`,
    );
  }
}

/** The role that owns nothing, if it exists and the user is a member of it. */
const readRoleQuery = (namespace: string): string => `SELECT coalesce(
  (SELECT rolname::text FROM pg_roles
   WHERE rolname = '${readRole(namespace)}' AND pg_has_role(current_user, oid, 'MEMBER')), 'none') AS role`;

export class PostgresStore implements Store {
  readonly capabilities: StoreCapabilities = {
    name: 'postgres',
    clock: 'store',
    single_writer: false,
    commits_at_once: 2,
    durable: true,
  };
  /** Stored in the same database, for servers without other blob storage. */
  readonly blobs: PostgresBlobs;
  private readonly committer: PostgresCommitter;
  /** The latest time reported, so that time does not run back after a failover to a server with another clock. */
  private latestMs = 0;

  constructor(
    private readonly connections: PostgresPool,
    private readonly namespace: string,
    private readonly role: string,
  ) {
    this.committer = new PostgresCommitter(connections, namespace);
    this.blobs = new PostgresBlobs(connections, namespace, role);
  }

  async commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    if (transactions.length === 0) return [];
    const batch = new CommitBatch(transactions);
    const outcomes = batch.outcomes(await this.committer.send(batch.values()));
    for (const { now_ms } of outcomes) this.latestMs = Math.max(this.latestMs, now_ms);
    return outcomes;
  }

  async heads(
    { tenant_id, project_id }: ProjectKey,
    subjects: readonly string[],
  ): Promise<(StoredHead | null)[]> {
    if (subjects.length === 0) return [];
    const rows = await this.queryAs<{ subject: string; body: string }>(tenant_id, {
      text: `SELECT subject, body FROM ${this.namespace}.head
WHERE tenant_id = $1 AND project_id = $2 AND subject = ANY ($3::text[])`,
      values: [tenant_id, project_id, subjects],
    });
    const found = new Map(rows.map(({ subject, body }) => [subject, JSON.parse(body) as StoredHead]));
    return subjects.map((subject) => found.get(subject) ?? null);
  }

  async scanHeads(
    { tenant_id, project_id }: ProjectKey,
    { after, limit }: { after: string | null; limit: number },
  ): Promise<StoredHead[]> {
    const rows = await this.queryAs<{ body: string }>(tenant_id, {
      text: `SELECT body FROM ${this.namespace}.head
WHERE tenant_id = $1 AND project_id = $2 AND subject > $3 ORDER BY subject LIMIT $4`,
      values: [tenant_id, project_id, after ?? '', limit],
    });
    return rows.map(({ body }) => JSON.parse(body) as StoredHead);
  }

  async events(project: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    if (query.types?.length === 0) return [];
    const statement = eventStatement(this.namespace, project, query);
    const rows = await this.queryAs<EventRow>(project.tenant_id, statement);
    return rows.map((row) => eventFromRow(project, row));
  }

  async redact({ tenant_id, project_id }: ProjectKey, events: readonly EventEnvelope[]): Promise<void> {
    const positions = events.map(({ position }) => position);
    const bodies = events.map(({ position: _, ...event }) => JSON.stringify(withoutColumns(event)));
    await this.connections.query({
      text: `SELECT ${this.namespace}.forget_said($1, $2, $3::bigint[], $4::text[])`,
      values: [tenant_id, project_id, positions, bodies],
    });
  }

  async project({ tenant_id, project_id }: ProjectKey): Promise<ProjectRow | null> {
    const [row] = await this.queryAs<{ position: string; rules_seq: string }>(tenant_id, {
      text: `SELECT position, rules_seq FROM ${this.namespace}.project
WHERE tenant_id = $1 AND project_id = $2 AND written`,
      values: [tenant_id, project_id],
    });
    return row === undefined ? null : { position: Number(row.position), rules_seq: Number(row.rules_seq) };
  }

  async projects(tenantId: string): Promise<string[]> {
    const rows = await this.queryAs<{ project_id: string }>(tenantId, {
      text: `SELECT project_id FROM ${this.namespace}.project WHERE tenant_id = $1 AND written ORDER BY project_id`,
      values: [tenantId],
    });
    return rows.map(({ project_id }) => project_id);
  }

  async countPermits(tenantId: string, scope: string): Promise<number> {
    const nowMs = await this.now();
    const [row] = await this.queryAs<{ live: string }>(tenantId, {
      text: `SELECT count(*) AS live FROM ${this.namespace}.slot
WHERE tenant_id = $1 AND scope = $2 AND until_ms > $3`,
      values: [tenantId, scope, nowMs],
    });
    return Number(row?.live);
  }

  async now(): Promise<number> {
    const text = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms';
    const [row] = await this.connections.query<{ now_ms: string }>({ text, values: [] });
    this.latestMs = Math.max(this.latestMs, Number(row?.now_ms));
    return this.latestMs;
  }

  async meta(): Promise<StoreMeta> {
    const text = `SELECT incarnation, secret FROM ${this.namespace}.meta`;
    const [row] = await this.connections.query<{ incarnation: string; secret: string }>({ text, values: [] });
    return { incarnation: Number(row?.incarnation), secret: String(row?.secret) };
  }

  close(): Promise<void> {
    return this.connections.close();
  }

  private queryAs<Row extends object>(tenantId: string, statement: PostgresStatement): Promise<Row[]> {
    return this.connections.queryAsTenant(tenantId, this.role, statement);
  }
}
