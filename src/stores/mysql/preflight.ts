import type { Connection, RowDataPacket } from 'mysql2/promise';
import { StoreRefused } from '../store.js';
import { sql } from './queries.js';

/** The smallest packet limit that fits a transaction with a result of maximum size, its event and its head. */
const PACKET_BYTES_MIN = 4 * 1024 * 1024;
/** The oldest versions with JSON_TABLE. */
const OLDEST = { MySQL: [8, 0], MariaDB: [10, 6] } as const;

type MysqlQueryable = Pick<Connection, 'query'>;

/**
 * Refuses a server that cannot be used as a store: for example not durable, read-only, too old, or started with
 * `--sysdate-is-now`. Returns its maximum packet size in bytes.
 */
export async function runPreflight(server: MysqlQueryable): Promise<number> {
  const variable = await checkWritable(server);
  // MariaDB's value 3 also syncs with every commit.
  if (!['1', '3'].includes(variable('innodb_flush_log_at_trx_commit')))
    throwRefused('a power failure may lose committed data. Set innodb_flush_log_at_trx_commit = 1');
  const hasBinaryLog = isOn(variable('log_bin'));
  if (hasBinaryLog && variable('sync_binlog') !== '1')
    throwRefused('a power failure may lose committed data of its binary log. Set sync_binlog = 1');
  if (hasBinaryLog && variable('binlog_format').toUpperCase() === 'STATEMENT')
    throwRefused('statement-based replication does not support this schema. Set binlog_format = ROW');
  const packetBytesMax = Number(variable('max_allowed_packet'));
  const packetLimit = `its packet size limit of ${packetBytesMax} bytes`;
  if (packetBytesMax < PACKET_BYTES_MIN)
    throwRefused(`${packetLimit} is too small. Set max_allowed_packet = 16M or more`);
  await checkClock(server);
  return packetBytesMax;
}

/**
 * Checks the server's version, that it is not read-only, and how it decodes JSON. Returns a reader of its variables. A user
 * with every privilege could write even to a replica, where the data would be lost.
 */
export async function checkWritable(server: MysqlQueryable): Promise<(name: string) => string> {
  const variable = await readVariables(server);
  checkVersion(variable('version'));
  if (['read_only', 'super_read_only', 'innodb_read_only'].some((name) => isOn(variable(name)))) {
    throwRefused('it is read-only, like a replica. Use the URL of the primary');
  }
  await checkJson(server, variable('version'));
  return variable;
}

/** Early MariaDB 10.6 leaves escapes in JSON_TABLE values: names and replies would be stored incorrectly. */
async function checkJson(server: MysqlQueryable, version: string): Promise<void> {
  const [rows] = await server.query<RowDataPacket[]>(sql('json_value'), [JSON.stringify(['"'])]);
  if (rows[0]?.text !== '"')
    throwRefused(
      `JSON_TABLE in ${version} returns wrong strings (escapes are not decoded). Update to the newest patch release of this version`,
    );
}

async function readVariables(server: MysqlQueryable): Promise<(name: string) => string> {
  const [rows] = await server.query<RowDataPacket[]>(sql('variables'));
  const values = new Map(rows.map((row) => [String(row.Variable_name), String(row.Value)]));
  return (name) => values.get(name) ?? '';
}

function checkVersion(version: string): void {
  const kind = version.includes('MariaDB') ? 'MariaDB' : 'MySQL';
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  const [oldestMajor, oldestMinor] = OLDEST[kind];
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    throwRefused(`it is ${kind} ${version}, and ${kind} ${oldestMajor}.${oldestMinor} or newer is required`);
  }
}

/** With --sysdate-is-now, SYSDATE returns when the call began, not the time after it has waited for locks. */
async function checkClock(server: MysqlQueryable): Promise<void> {
  const [rows] = await server.query<RowDataPacket[]>(sql('clock_before_and_after'));
  if (rows[0]?.before_us === rows[0]?.after_us)
    throwRefused('it runs with --sysdate-is-now. Restart it without that option');
}

const isOn = (value: string): boolean => value === 'ON' || value === '1';

function throwRefused(reason: string): never {
  throw new StoreRefused(`This MySQL server cannot be used as a store: ${reason}.`);
}
