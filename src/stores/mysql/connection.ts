import type { Connection, Pool, PoolConnection } from 'mysql2/promise';
import { loadDriver } from '../load-driver.js';
import type { MysqlOptions } from './options.js';

/** Lock wait timeout; a commit that hits it is retried. */
const LOCK_WAIT_SECONDS = 5;
/** A queue of this length means that the engine no longer responds. */
const QUEUE_MAX = 10_000;

const SESSION = `SET SESSION
  sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00',
  innodb_lock_wait_timeout = ${LOCK_WAIT_SECONDS}`;
const ISOLATION = 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED';

export async function openPool(options: MysqlOptions): Promise<Pool> {
  const { createPool } = await loadDriver('mysql2', () => import('mysql2/promise'));
  const pool = createPool({
    ...address(options),
    database: options.namespace,
    connectionLimit: options.pool_size,
    queueLimit: QUEUE_MAX,
  });
  // The driver sends these statements before any other on a connection.
  pool.on('connection', (connection) => {
    const bare = connection as unknown as { query(sql: string, done: () => void): void };
    for (const statement of [SESSION, ISOLATION]) bare.query(statement, () => {});
  });
  return pool;
}

/** For the migrator: the database may not exist yet. */
export async function connect(options: MysqlOptions): Promise<Connection> {
  const { createConnection } = await loadDriver('mysql2', () => import('mysql2/promise'));
  const connection = await createConnection(address(options));
  for (const statement of [SESSION, ISOLATION]) await connection.query(statement);
  return connection;
}

const address = ({ host, port, user, password, tls, connect_timeout_ms }: MysqlOptions) => ({
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
    const done = await work(connection);
    connection.release();
    return done;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}
