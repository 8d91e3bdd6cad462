import type { PoolClient } from 'pg';
import { StoreRefused } from '../store.js';
import type { PostgresOptions } from './options.js';
import { sql } from './queries.js';

/** Refuses a server that is too old or not writable: a replica, or a read-only user. */
export async function runPreflight(client: PoolClient, { host, port }: PostgresOptions): Promise<void> {
  const { rows } = await client.query(sql('server_info'));
  const { is_replica, read_only, version } = rows[0];
  if (is_replica || read_only === 'on') {
    const what = is_replica ? 'is a read-only replica' : 'is read-only for this user';
    throw new StoreRefused(`PostgreSQL at ${host}:${port} ${what}. Use the URL of the primary.`);
  }
  if (version < 130_000) {
    throw new StoreRefused(`PostgreSQL at ${host}:${port} is older than version 13. Update it.`);
  }
}
