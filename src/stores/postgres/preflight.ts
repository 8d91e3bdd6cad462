import type { PoolClient } from 'pg';
import { StoreRefused } from '../store.js';
import type { PostgresOptions } from './options.js';
import { sql } from './queries.js';

/** Refuses a server that is too old or not writable: a replica, or a read-only user. */
export async function runPreflight(client: PoolClient, { host, port }: PostgresOptions): Promise<void> {
  const { rows } = await client.query(sql('server_info'));
  const { is_replica, read_only, version } = rows[0];
  const where = `PostgreSQL at ${host}:${port}`;
  if (is_replica) throw new StoreRefused(`${where} is a read-only replica. Use the URL of the primary.`);
  if (read_only === 'on') {
    throw new StoreRefused(
      `${where} is read-only for this user: default_transaction_read_only is on. Set it to off for the user.`,
    );
  }
  if (version < 130_000) {
    throw new StoreRefused(`${where} is older than version 13. Update it.`);
  }
}
