import type { Pool, PoolClient, QueryResult, QueryResultRow } from 'pg';
import { loadDriver } from '../load-driver.js';
import { classifyError, toStoreError } from './errors.js';
import type { PostgresOptions } from './options.js';
import { sql } from './queries.js';

export interface PostgresStatement {
  /** Prepared under this name, once per connection. */
  readonly name?: string;
  readonly text: string;
  readonly values: unknown[];
}

/** Added to the database's statement timeout: a server that has not replied after this time is frozen or gone. */
const GRACE_MS = 1_000;

/** A bounded pool of connections; a lost connection is never reused. */
export class PostgresPool {
  private closing: Promise<void> | null = null;

  private constructor(private readonly pool: Pool) {
    // A broken connection reports to its pending query; an idle one is replaced when needed.
    pool.on('error', () => {});
    pool.on('connect', (client) => client.on('error', () => {}));
  }

  static async make(options: PostgresOptions): Promise<PostgresPool> {
    const driver = await loadDriver('pg', () => import('pg'));
    return new PostgresPool(
      new driver.default.Pool({
        host: options.host,
        port: options.port,
        user: options.user,
        database: options.database,
        ...(options.password === null ? {} : { password: options.password }),
        ssl: options.ssl === 'off' ? false : { rejectUnauthorized: options.ssl === 'verified' },
        max: options.connections_max,
        connectionTimeoutMillis: options.connect_timeout_ms,
        statement_timeout: options.statement_timeout_ms,
        query_timeout: options.statement_timeout_ms + GRACE_MS,
        application_name: 'genesis-fleet',
        keepAlive: true,
        pipeline: true,
      }),
    );
  }

  /** Runs work on a connection of the pool. Rejects with the driver's own error. */
  async withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    let isLost = false;
    try {
      return await work(client);
    } catch (error) {
      isLost = classifyError(error) === 'lost';
      throw error;
    } finally {
      client.release(isLost);
    }
  }

  query<Row extends QueryResultRow>(statement: PostgresStatement): Promise<Row[]> {
    return this.rowsOf(async (client) => client.query<Row>(statement));
  }

  /**
   * Queries as a role that sees one tenant, and the rows of one of its projects. The four statements are sent together,
   * so that this takes one round trip; the settings end with the transaction, even behind a pooler.
   */
  queryAsTenant<Row extends QueryResultRow>(
    role: string,
    [tenantId, projectId = '']: readonly [tenantId: string, projectId?: string],
    statement: PostgresStatement,
  ): Promise<Row[]> {
    return this.rowsOf(async (client) => {
      const begun = client.query('BEGIN');
      const set = client.query({
        name: 'as-tenant',
        text: sql('as_tenant'),
        values: [role, tenantId, projectId],
      });
      const replies = [begun, set, client.query<Row>(statement), client.query('COMMIT')] as const;
      // No reply may be pending when the connection is released.
      await Promise.allSettled(replies);
      return (await Promise.all(replies))[2];
    });
  }

  close(): Promise<void> {
    this.closing ??= this.pool.end();
    return this.closing;
  }

  private async rowsOf<Row extends QueryResultRow>(
    work: (client: PoolClient) => Promise<QueryResult<Row>>,
  ): Promise<Row[]> {
    try {
      return (await this.withClient(work)).rows;
    } catch (error) {
      throw toStoreError(error);
    }
  }
}
