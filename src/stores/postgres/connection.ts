import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { loadDriver } from '../load-driver.js';
import { classifyError, toStoreError } from './errors.js';
import type { PostgresOptions } from './options.js';

export interface PostgresStatement {
  /** Prepared under this name, once per connection. */
  readonly name?: string;
  readonly text: string;
  readonly values: unknown[];
}

/** Added to the engine's statement timeout: a server that has not replied by then is frozen or gone. */
const GRACE_MS = 1_000;

/** A bounded pool of connections; a lost connection is never reused. */
export class PostgresPool {
  private closing: Promise<void> | null = null;

  private constructor(private readonly pool: Pool) {
    // A broken connection reports to its pending query; an idle one is replaced when needed.
    pool.on('error', () => {});
    pool.on('connect', (client) => client.on('error', () => {}));
  }

  static async make(
    options: PostgresOptions,
    connectionsMax = options.connections_max,
  ): Promise<PostgresPool> {
    const driver = await loadDriver('pg', () => import('pg'));
    return new PostgresPool(
      new driver.default.Pool({
        host: options.host,
        port: options.port,
        user: options.user,
        database: options.database,
        ...(options.password === null ? {} : { password: options.password }),
        ssl: options.ssl === 'off' ? false : { rejectUnauthorized: options.ssl === 'verified' },
        max: connectionsMax,
        connectionTimeoutMillis: options.connect_timeout_ms,
        statement_timeout: options.statement_timeout_ms,
        query_timeout: options.statement_timeout_ms + GRACE_MS,
        application_name: 'genesis-fleet',
        keepAlive: true,
        pipeline: true,
      }),
    );
  }

  /** Rejects with the driver's own error. */
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

  async query<Row extends QueryResultRow>(statement: PostgresStatement): Promise<Row[]> {
    try {
      return await this.withClient(async (client) => (await client.query<Row>(statement)).rows);
    } catch (error) {
      throw toStoreError(error);
    }
  }

  /**
   * Queries as a role that sees one tenant. The four statements are sent together, so that this takes one round trip;
   * the settings end with the transaction, even behind a pooler.
   */
  async queryAsTenant<Row extends QueryResultRow>(
    tenantId: string,
    role: string,
    statement: PostgresStatement,
  ): Promise<Row[]> {
    try {
      return await this.withClient(async (client) => {
        const [, , answer] = await allSettledOrThrow([
          client.query('BEGIN'),
          client.query(tenantStatement(tenantId, role)),
          client.query<Row>(statement),
          client.query('COMMIT'),
        ]);
        return answer.rows;
      });
    } catch (error) {
      throw toStoreError(error);
    }
  }

  close(): Promise<void> {
    this.closing ??= this.pool.end();
    return this.closing;
  }
}

const tenantStatement = (tenantId: string, role: string): PostgresStatement => ({
  name: 'as-tenant',
  text: "SELECT set_config('role', $1, true), set_config('genesis.tenant', $2, true)",
  values: [role, tenantId],
});

/** Waits for all promises, so that none is pending when the connection is released, and throws the first failure. */
async function allSettledOrThrow<T extends readonly Promise<unknown>[]>(
  promises: T,
): Promise<{ [Index in keyof T]: Awaited<T[Index]> }> {
  const settled = await Promise.allSettled(promises);
  for (const one of settled) if (one.status === 'rejected') throw one.reason;
  return Promise.all(promises) as Promise<{ [Index in keyof T]: Awaited<T[Index]> }>;
}
