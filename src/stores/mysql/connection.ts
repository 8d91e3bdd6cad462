import type { Connection, Pool, PoolConnection, RowDataPacket } from 'mysql2/promise';
import { loadDriver } from '../load-driver.js';
import { toStoreError } from './errors.js';
import type { MysqlOptions } from './options.js';
import { sql } from './queries.js';

/** Lock wait timeout; a commit that hits it is retried. */
const LOCK_WAIT_SECONDS = 5;
/** A queue of this length means that the database no longer responds. */
const QUEUE_MAX = 10_000;

const SESSION = [sql('session', { lock_wait_seconds: LOCK_WAIT_SECONDS }), sql('isolation')];

export async function openPool(options: MysqlOptions): Promise<Pool> {
  const { createPool } = await loadDriver('mysql2', () => import('mysql2/promise'));
  const pool = createPool({
    ...addressOptions(options),
    database: options.namespace,
    connectionLimit: options.pool_size,
    queueLimit: QUEUE_MAX,
  });
  // The driver sends these statements before any other on a connection.
  pool.on('connection', (connection) => {
    const callbackConnection = connection as unknown as { query(sql: string, done: () => void): void };
    for (const statement of SESSION) callbackConnection.query(statement, () => {});
  });
  return pool;
}

/** A connection that selects no database, for the migrator: the database may not exist yet. */
export async function connect(options: MysqlOptions): Promise<Connection> {
  const { createConnection } = await loadDriver('mysql2', () => import('mysql2/promise'));
  const connection = await createConnection(addressOptions(options));
  for (const statement of SESSION) await connection.query(statement);
  return connection;
}

const addressOptions = ({ host, port, user, password, tls, connect_timeout_ms }: MysqlOptions) => ({
  host,
  port,
  user,
  password,
  charset: 'utf8mb4_bin',
  connectTimeout: connect_timeout_ms,
  ...(tls ? { ssl: { verifyIdentity: true } } : {}),
});

/** Runs `work` on a connection, which returns to the pool only if `work` succeeds. */
export async function withConnection<T>(
  pool: Pool,
  work: (connection: PoolConnection) => Promise<T>,
): Promise<T> {
  const connection = await pool.getConnection();
  try {
    const result = await work(connection);
    connection.release();
    return result;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/** A value for a statement. The driver writes a list as its elements, separated by commas. */
export type SqlValue = Buffer | string | number | Buffer[];

/** The rows of a statement that changes nothing, or that has the same effect however often it runs. */
export async function queryRows(
  pool: Pool,
  options: MysqlOptions,
  statement: string,
  values: readonly SqlValue[],
): Promise<RowDataPacket[]> {
  const timeout = options.statement_timeout_ms;
  try {
    return (await pool.query<RowDataPacket[]>({ sql: statement, timeout, values: [...values] }))[0];
  } catch (error) {
    throw toStoreError(error, options);
  }
}
