import type { Pool, RowDataPacket } from 'mysql2/promise';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type {
  CommitOutcome,
  EventQuery,
  ProjectKey,
  ProjectRow,
  Store,
  StoreCapabilities,
  StoredHead,
  StoreMeta,
  Transaction,
} from '../store.js';
import { MysqlBlobs } from './blobs.js';
import { MysqlCommitter } from './commit.js';
import { CLOCK_MS } from './commit-script.js';
import { openPool } from './connection.js';
import { missingSchemaError, toOpeningError, toStoreError } from './errors.js';
import { selectEvents } from './events.js';
import { newerSchemaError, schemaVersion } from './migrator.js';
import { decodeName, encodeName, nameBytes } from './name-encoding.js';
import type { MysqlOptions } from './options.js';
import { runPreflight } from './preflight.js';
import { SCHEMA_VERSION } from './schema.js';

export { openMysqlMigrator } from './migrator.js';

/** Opens a store; creates nothing, because the schema is the migrator's task. */
export async function openMysqlStore(options: MysqlOptions): Promise<MysqlStore> {
  const pool = await openPool(options);
  try {
    const found = await schemaVersion(pool, options.namespace);
    if (found > SCHEMA_VERSION) throw newerSchemaError(found);
    if (found < SCHEMA_VERSION) throw missingSchemaError(options);
    const { packet_bytes_max } = await runPreflight(pool);
    return new MysqlStore(pool, options, new MysqlCommitter(pool, options, packet_bytes_max));
  } catch (error) {
    await pool.end();
    throw toOpeningError(error, options);
  }
}

export class MysqlStore implements Store {
  readonly capabilities: StoreCapabilities = {
    name: 'mysql',
    clock: 'store',
    single_writer: false,
    commits_at_once: 2,
    durable: true,
    note: 'A reader may see a commit moments before it is durable, unless the server keeps a binary log.',
  };
  readonly blobs: MysqlBlobs;
  private closed: Promise<void> | null = null;
  /** The latest time reported: the server's clock may be set back. */
  private latestMs = 0;

  constructor(
    private readonly pool: Pool,
    private readonly options: MysqlOptions,
    private readonly committer: MysqlCommitter,
  ) {
    this.blobs = new MysqlBlobs(pool, options);
  }

  async commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    const outcomes = await this.committer.commit(transactions);
    for (const { now_ms } of outcomes) this.latestMs = Math.max(this.latestMs, now_ms);
    return outcomes;
  }

  async heads(project: ProjectKey, subjects: readonly string[]): Promise<(StoredHead | null)[]> {
    if (subjects.length === 0) return [];
    const names = JSON.stringify(subjects.map(encodeName));
    const rows = await this.rows(
      `SELECT j.number, h.head
       FROM JSON_TABLE(?, '$[*]' COLUMNS (number FOR ORDINALITY, subject VARBINARY(1500) PATH '$')) j
       STRAIGHT_JOIN heads h ON h.tenant_id = ? AND h.project_id = ? AND h.subject = j.subject`,
      [names, ...keyOf(project)],
    );
    const found = new Map(rows.map(({ number, head }) => [Number(number), JSON.parse(head) as StoredHead]));
    return subjects.map((_, index) => found.get(index + 1) ?? null);
  }

  async scanHeads(
    project: ProjectKey,
    { after, limit }: { after: string | null; limit: number },
  ): Promise<StoredHead[]> {
    const rows = await this.rows(
      `SELECT head FROM heads
       WHERE tenant_id = ? AND project_id = ? ${after === null ? '' : 'AND subject > ?'}
       ORDER BY subject LIMIT ${Math.floor(limit)}`,
      [...keyOf(project), ...(after === null ? [] : [nameBytes(after)])],
    );
    return rows.map(({ head }) => JSON.parse(head) as StoredHead);
  }

  async events(project: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    const select = selectEvents(project, query);
    if (select === null) return [];
    const rows = await this.rows(select.sql, select.values);
    return rows.map(({ position, event }) => JSON.parse(`{"position":${position},${event.slice(1)}`));
  }

  async redact(project: ProjectKey, events: readonly EventEnvelope[]): Promise<void> {
    for (const { position, ...event } of events) {
      await this.rows('UPDATE events SET event = ? WHERE tenant_id = ? AND project_id = ? AND position = ?', [
        JSON.stringify(event),
        ...keyOf(project),
        position,
      ]);
    }
  }

  async project(project: ProjectKey): Promise<ProjectRow | null> {
    const [row] = await this.rows(
      'SELECT position, rules_seq FROM projects WHERE tenant_id = ? AND project_id = ? AND is_written',
      keyOf(project),
    );
    return row === undefined ? null : { position: Number(row.position), rules_seq: Number(row.rules_seq) };
  }

  async projects(tenantId: string): Promise<string[]> {
    const rows = await this.rows(
      'SELECT project_id FROM projects WHERE tenant_id = ? AND is_written ORDER BY project_id',
      [nameBytes(tenantId)],
    );
    return rows.map(({ project_id }) => decodeName(String(project_id)));
  }

  async countPermits(tenantId: string, scope: string): Promise<number> {
    const [row] = await this.rows(
      `SELECT COUNT(*) AS live FROM places
       WHERE tenant_id = ? AND scope = ? AND until_ms > GREATEST(?, ${CLOCK_MS})`,
      [nameBytes(tenantId), nameBytes(scope), this.latestMs],
    );
    return Number(row?.live);
  }

  async now(): Promise<number> {
    const [row] = await this.rows(`SELECT ${CLOCK_MS} AS now_ms`, []);
    this.latestMs = Math.max(this.latestMs, Number(row?.now_ms));
    return this.latestMs;
  }

  async meta(): Promise<StoreMeta> {
    const [row] = await this.rows('SELECT incarnation, secret FROM meta', []);
    return { incarnation: Number(row?.incarnation), secret: String(row?.secret) };
  }

  close(): Promise<void> {
    this.committer.close();
    // The driver sends a quit command on each connection; a lost connection is closed anyway.
    this.closed ??= this.pool.end().catch(() => {});
    return this.closed;
  }

  private async rows(sql: string, values: readonly (Buffer | string | number)[]): Promise<RowDataPacket[]> {
    try {
      const timeout = this.options.statement_timeout_ms;
      const [rows] = await this.pool.query<RowDataPacket[]>({ sql, timeout, values: [...values] });
      return rows;
    } catch (error) {
      throw toStoreError(error, this.options);
    }
  }
}

const keyOf = ({ tenant_id, project_id }: ProjectKey): [Buffer, Buffer] => [
  nameBytes(tenant_id),
  nameBytes(project_id),
];
