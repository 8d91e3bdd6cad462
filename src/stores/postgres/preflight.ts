import type { PoolClient } from 'pg';
import { StoreRefused } from '../store.js';
import type { PostgresOptions } from './options.js';

const SERVER_INFO_QUERY = `SELECT pg_is_in_recovery() AS is_replica, current_setting('default_transaction_read_only') AS read_only,
current_setting('server_version_num')::int AS version`;

interface PostgresServerInfo {
  readonly is_replica: boolean;
  readonly read_only: string;
  readonly version: number;
}

/** Refuses a server that is too old or not writable: a replica, or a read-only user. */
export async function runPreflight(client: PoolClient, { host, port }: PostgresOptions): Promise<void> {
  const { is_replica, read_only, version } = (await client.query<PostgresServerInfo>(SERVER_INFO_QUERY))
    .rows[0] as PostgresServerInfo;
  if (is_replica || read_only === 'on') {
    const what = is_replica ? 'is a replica that can only be read' : 'lets this user only read';
    throw new StoreRefused(`PostgreSQL at ${host}:${port} ${what}. Give the URL of the primary.`);
  }
  if (version < 130_000) {
    throw new StoreRefused(`PostgreSQL at ${host}:${port} is older than version 13. Update it.`);
  }
}
