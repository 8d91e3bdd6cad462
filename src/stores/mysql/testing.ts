import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { RowDataPacket } from 'mysql2/promise';
import { isSelected, type MissingDatabase, NOT_SELECTED, type TestDatabase } from '../testing/database.js';
import { findInstalledProgram } from '../testing/program.js';
import {
  newServerLocation,
  type ServerLocation,
  ServerProcess,
  type ServerSpec,
} from '../testing/server-process.js';
import { type MysqlOptions, parseMysqlUrl } from './options.js';

const AS_ROOT = process.getuid?.() === 0 ? ['--user=root'] : [];
const dataOf = ({ folder }: ServerLocation): string => join(folder, 'data');

/** A starting server removes files that look like leftovers. In a shared folder, they may be tables of other servers. */
const ownTmpdir = ({ folder }: ServerLocation): string => `--tmpdir=${folder}`;

const mariadbServer = (settings: readonly string[]): ServerSpec => ({
  name: 'mariadbd',
  command: (location) => ({
    program: 'mariadbd',
    args: [
      '--no-defaults',
      `--datadir=${dataOf(location)}`,
      ownTmpdir(location),
      `--port=${location.port}`,
      '--bind-address=127.0.0.1',
      `--socket=${join(location.folder, 'socket')}`,
      `--pid-file=${join(location.folder, 'pid')}`,
      '--innodb-buffer-pool-size=256M',
      ...settings,
      ...AS_ROOT,
    ],
  }),
  isReady: async (port) => {
    const { createConnection } = await import('mysql2/promise');
    return createConnection({ host: '127.0.0.1', port, user: 'root' }).then(
      (connection) => connection.end().then(() => true),
      () => false,
    );
  },
});

/** The server of GENESIS_TEST_MYSQL, or else a new, empty MariaDB on a free port. */
export async function startMysql(): Promise<TestDatabase | MissingDatabase> {
  if (!isSelected('mysql')) return NOT_SELECTED;
  const configuredUrl = process.env.GENESIS_TEST_MYSQL;
  return configuredUrl === undefined ? startOwnMysql() : { url: configuredUrl, stop: async () => {} };
}

/** An exclusive server, which the test may kill, freeze and configure. */
export async function startOwnMysql(
  settings: readonly string[] = [],
  parent?: string,
): Promise<Required<TestDatabase> | MissingDatabase> {
  if (!isSelected('mysql')) return NOT_SELECTED;
  if (findInstalledProgram('mariadbd') === null) {
    return { missing: 'mariadbd is not installed (npm run engines:install)' };
  }
  const location = await newServerLocation('mariadb', parent);
  initDataFolder(location);
  const { restart, halt, boot, freeze, thaw, stop } = await ServerProcess.start(
    mariadbServer(settings),
    location,
  );
  return {
    url: `mysql://root@127.0.0.1:${location.port}/genesis_fleet`,
    restart,
    halt,
    boot,
    freeze,
    thaw,
    stop,
  };
}

function initDataFolder(location: ServerLocation): void {
  const install = [
    '--no-defaults',
    `--datadir=${dataOf(location)}`,
    ownTmpdir(location),
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
    ...AS_ROOT,
  ];
  const installation = spawnSync('mariadb-install-db', install, { encoding: 'utf8' });
  if (installation.status !== 0)
    throw new Error(`mariadb-install-db failed: ${installation.stdout}${installation.stderr}`);
}

/** Sends the server a statement that a store would not send. */
export async function queryServer(
  { host, port, user, password, namespace: database }: MysqlOptions,
  sql: string,
  values: unknown[] = [],
): Promise<RowDataPacket[]> {
  const { createConnection } = await import('mysql2/promise');
  const connection = await createConnection({ host, port, user, password, database });
  try {
    const [rows] = await connection.query<RowDataPacket[]>(sql, values);
    return rows;
  } finally {
    await connection.end();
  }
}

/** Timeouts long enough for any slow machine: the store gives up only on a hanging server. */
export const optionsWithLongTimeouts = (url: string): MysqlOptions => ({
  ...parseMysqlUrl(url),
  connect_timeout_ms: 600_000,
  statement_timeout_ms: 600_000,
});
