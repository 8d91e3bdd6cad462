import type { EventEnvelope } from '../../core/events/envelope.js';
import {
  type EventQuery,
  type Outcome,
  type ProjectKey,
  type ProjectRow,
  type Store,
  type StoreCapabilities,
  type StoredHead,
  type StoreMeta,
  StoreRefused,
  type Unit,
} from '../store.js';
import { Batch, withoutColumns } from './batch.js';
import { PostgresBlobs } from './blobs.js';
import type { PostgresOptions } from './configuration.js';
import { Connections, type Statement } from './connections.js';
import { openingError } from './errors.js';
import { type EventRow, eventOf, eventStatement } from './event-query.js';
import { checkFitness } from './fitness.js';
import { readRole, SCHEMA_VERSION, versionTable } from './schema.js';
import { Sender } from './sender.js';

export { openPostgresMigrator } from './postgres-migrator.js';

/** Opens what `gen migrate` made; makes nothing itself. */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  const connections = await Connections.make(options);
  try {
    const role = await connections.use(async (client) => {
      const ask = async (text: string) => (await client.query(text)).rows[0];
      await checkFitness(client, options);
      const { there } = await ask(versionTable(options.namespace));
      const { found } = there
        ? await ask(`SELECT max(version) AS found FROM ${options.namespace}.migration`)
        : { found: null };
      refuseOtherSchema(found, options.namespace);
      return (await ask(roleToReadAs(options.namespace))).role as string;
    });
    return new PostgresStore(connections, options.namespace, role);
  } catch (error) {
    await connections.close();
    throw error instanceof StoreRefused ? error : openingError(error, options);
  }
}

function refuseOtherSchema(found: number | null, namespace: string): void {
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

/** The role that owns nothing, where it was made and the user may take it. */
const roleToReadAs = (namespace: string): string => `SELECT coalesce(
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
  /** Beside the heads and events, for whoever keeps blobs nowhere else. */
  readonly blobs: PostgresBlobs;
  private readonly sender: Sender;
  /** The latest time told, by which the clock of another server after a failover cannot run back. */
  private told_ms = 0;

  constructor(
    private readonly connections: Connections,
    private readonly namespace: string,
    private readonly role: string,
  ) {
    this.sender = new Sender(connections, namespace);
    this.blobs = new PostgresBlobs(connections, namespace, role);
  }

  async commit(units: readonly Unit[]): Promise<Outcome[]> {
    if (units.length === 0) return [];
    const batch = new Batch(units);
    const outcomes = batch.outcomes(await this.sender.send(batch.values()));
    for (const { now_ms } of outcomes) this.told_ms = Math.max(this.told_ms, now_ms);
    return outcomes;
  }

  async heads(
    { tenant_id, project_id }: ProjectKey,
    subjects: readonly string[],
  ): Promise<(StoredHead | null)[]> {
    if (subjects.length === 0) return [];
    const rows = await this.askAs<{ subject: string; body: string }>(tenant_id, {
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
    const rows = await this.askAs<{ body: string }>(tenant_id, {
      text: `SELECT body FROM ${this.namespace}.head
WHERE tenant_id = $1 AND project_id = $2 AND subject > $3 ORDER BY subject LIMIT $4`,
      values: [tenant_id, project_id, after ?? '', limit],
    });
    return rows.map(({ body }) => JSON.parse(body) as StoredHead);
  }

  async events(project: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    if (query.types?.length === 0) return [];
    const statement = eventStatement(this.namespace, project, query);
    const rows = await this.askAs<EventRow>(project.tenant_id, statement);
    return rows.map((row) => eventOf(project, row));
  }

  async forget({ tenant_id, project_id }: ProjectKey, events: readonly EventEnvelope[]): Promise<void> {
    const positions = events.map(({ position }) => position);
    const bodies = events.map(({ position: _, ...event }) => JSON.stringify(withoutColumns(event)));
    await this.connections.ask({
      text: `SELECT ${this.namespace}.forget_said($1, $2, $3::bigint[], $4::text[])`,
      values: [tenant_id, project_id, positions, bodies],
    });
  }

  async project({ tenant_id, project_id }: ProjectKey): Promise<ProjectRow | null> {
    const [row] = await this.askAs<{ position: string; rules_seq: string }>(tenant_id, {
      text: `SELECT position, rules_seq FROM ${this.namespace}.project
WHERE tenant_id = $1 AND project_id = $2 AND written`,
      values: [tenant_id, project_id],
    });
    return row === undefined ? null : { position: Number(row.position), rules_seq: Number(row.rules_seq) };
  }

  async projects(tenant_id: string): Promise<string[]> {
    const rows = await this.askAs<{ project_id: string }>(tenant_id, {
      text: `SELECT project_id FROM ${this.namespace}.project WHERE tenant_id = $1 AND written ORDER BY project_id`,
      values: [tenant_id],
    });
    return rows.map(({ project_id }) => project_id);
  }

  async occupancy(tenant_id: string, scope: string): Promise<number> {
    const now_ms = await this.now();
    const [row] = await this.askAs<{ live: string }>(tenant_id, {
      text: `SELECT count(*) AS live FROM ${this.namespace}.slot
WHERE tenant_id = $1 AND scope = $2 AND until_ms > $3`,
      values: [tenant_id, scope, now_ms],
    });
    return Number(row?.live);
  }

  async now(): Promise<number> {
    const text = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms';
    const [row] = await this.connections.ask<{ now_ms: string }>({ text, values: [] });
    this.told_ms = Math.max(this.told_ms, Number(row?.now_ms));
    return this.told_ms;
  }

  async meta(): Promise<StoreMeta> {
    const text = `SELECT incarnation, secret FROM ${this.namespace}.meta`;
    const [row] = await this.connections.ask<{ incarnation: string; secret: string }>({ text, values: [] });
    return { incarnation: Number(row?.incarnation), secret: String(row?.secret) };
  }

  close(): Promise<void> {
    return this.connections.close();
  }

  private askAs<Row extends object>(tenant_id: string, statement: Statement): Promise<Row[]> {
    return this.connections.askAsTenant(tenant_id, this.role, statement);
  }
}
