import type { Connection, RowDataPacket } from 'mysql2/promise';
import { StoreRefused } from '../store.js';

/** Minimum size of a call: a transaction with a result of maximum size, its event and its head. */
const PACKET_BYTES_MIN = 4 * 1024 * 1024;
/** The oldest versions with JSON_TABLE. */
const OLDEST = { MySQL: [8, 0], MariaDB: [10, 6] } as const;

export interface MysqlServerLimits {
  readonly packet_bytes_max: number;
}

type MysqlQueryable = Pick<Connection, 'query'>;

/** Refuses a server that cannot meet the store contract: not durable, not writable, too old, or with a fixed SYSDATE. */
export async function runPreflight(server: MysqlQueryable): Promise<MysqlServerLimits> {
  const variable = await checkWritable(server);
  // MariaDB's 3 also syncs with every commit.
  if (!['1', '3'].includes(variable('innodb_flush_log_at_trx_commit'))) {
    throwRefused('a power cut may undo what it has confirmed. Set innodb_flush_log_at_trx_commit = 1');
  }
  if (isOn(variable('log_bin')) && variable('sync_binlog') !== '1') {
    throwRefused(
      'a power cut may undo what it has confirmed, since it keeps a binary log. Set sync_binlog = 1',
    );
  }
  if (isOn(variable('log_bin')) && variable('binlog_format').toUpperCase() === 'STATEMENT') {
    throwRefused('its binary log repeats statements, which cannot repeat ours. Set binlog_format = ROW');
  }
  const packet_bytes_max = Number(variable('max_allowed_packet'));
  if (packet_bytes_max < PACKET_BYTES_MIN) {
    throwRefused(
      `it takes at most ${packet_bytes_max} bytes at a time. Set max_allowed_packet = 16M or more`,
    );
  }
  await checkClock(server);
  return { packet_bytes_max };
}

/**
 * Checks that a schema can be created. A user with every privilege could write even to a replica, where the data would
 * be lost.
 */
export async function checkWritable(server: MysqlQueryable): Promise<(name: string) => string> {
  const variable = await readVariables(server);
  checkVersion(variable('version'));
  if (['read_only', 'super_read_only', 'innodb_read_only'].some((name) => isOn(variable(name)))) {
    throwRefused('it is read only, as replicas are. Give the URL of the primary');
  }
  await checkJson(server, variable('version'));
  return variable;
}

/** Early MariaDB 10.6 leaves escapes in JSON_TABLE values: names and replies would be stored incorrectly. */
async function checkJson(server: MysqlQueryable, version: string): Promise<void> {
  const [rows] = await server.query<RowDataPacket[]>(
    "SELECT j.text FROM JSON_TABLE(?, '$[*]' COLUMNS (text VARCHAR(9) PATH '$')) j",
    [JSON.stringify(['"'])],
  );
  if (rows[0]?.text !== '"')
    throwRefused(`JSON_TABLE of ${version} is faulty. Update to its newest patch release`);
}

async function readVariables(server: MysqlQueryable): Promise<(name: string) => string> {
  const [rows] = await server.query<RowDataPacket[]>(
    `SHOW VARIABLES WHERE Variable_name IN ('version', 'read_only', 'super_read_only', 'innodb_read_only', 'log_bin',
      'innodb_flush_log_at_trx_commit', 'sync_binlog', 'binlog_format', 'max_allowed_packet')`,
  );
  const values = new Map(rows.map((row) => [String(row.Variable_name), String(row.Value)]));
  return (name) => values.get(name) ?? '';
}

function checkVersion(version: string): void {
  const kind = version.includes('MariaDB') ? 'MariaDB' : 'MySQL';
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  const [oldestMajor, oldestMinor] = OLDEST[kind];
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    throwRefused(`it is ${kind} ${version}, and ${kind} ${oldestMajor}.${oldestMinor} or newer is needed`);
  }
}

/** With --sysdate-is-now, SYSDATE is the start of the call, not the time after its locks. */
async function checkClock(server: MysqlQueryable): Promise<void> {
  const [rows] = await server.query<RowDataPacket[]>(
    "SELECT DATE_FORMAT(SYSDATE(6), '%f') AS before_us, SLEEP(0.002), DATE_FORMAT(SYSDATE(6), '%f') AS after_us",
  );
  if (rows[0]?.before_us === rows[0]?.after_us)
    throwRefused('it runs with --sysdate-is-now. Start it without');
}

const isOn = (value: string): boolean => value === 'ON' || value === '1';

function throwRefused(reason: string): never {
  throw new StoreRefused(`This MySQL server cannot hold a store: ${reason}.`);
}
