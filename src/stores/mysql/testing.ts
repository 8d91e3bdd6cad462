import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { isWanted, type MissingEngine, NOT_WANTED, type TestEngine } from '../testing/engine.js';
import { newPlace, type ServerPlace, type ServerPlan, ServerProcess } from '../testing/server-process.js';

const AS_ROOT = process.getuid?.() === 0 ? ['--user=root'] : [];
const dataOf = ({ folder }: ServerPlace): string => join(folder, 'data');

const mariadb = (settings: readonly string[]): ServerPlan => ({
  name: 'mariadbd',
  command: (place) => ({
    program: 'mariadbd',
    args: [
      '--no-defaults',
      `--datadir=${dataOf(place)}`,
      // A server that starts removes what it takes for leftovers: with a shared one, the tables of its neighbours.
      `--tmpdir=${place.folder}`,
      `--port=${place.port}`,
      '--bind-address=127.0.0.1',
      `--socket=${join(place.folder, 'socket')}`,
      `--pid-file=${join(place.folder, 'pid')}`,
      '--innodb-buffer-pool-size=256M',
      ...settings,
      ...AS_ROOT,
    ],
  }),
  answers: (port) =>
    createConnection({ host: '127.0.0.1', port, user: 'root' }).then(
      async (connection) => {
        await connection.end();
        return true;
      },
      () => false,
    ),
});

/** The server of GENESIS_TEST_MYSQL, or a MariaDB of our own on a free port, with nothing in it. */
export async function startMysql(): Promise<TestEngine | MissingEngine> {
  if (!isWanted('mysql')) return NOT_WANTED;
  const given = process.env.GENESIS_TEST_MYSQL;
  return given === undefined ? startOwnMysql() : { url: given, stop: async () => {} };
}

/** One that nobody else uses, to be ended, frozen and set up at will. */
export async function startOwnMysql(
  settings: readonly string[] = [],
  parent?: string,
): Promise<Required<TestEngine> | MissingEngine> {
  if (!isWanted('mysql')) return NOT_WANTED;
  if (spawnSync('mariadbd', ['--version']).error !== undefined) {
    return { missing: 'mariadbd is not installed (npm run engines:install)' };
  }
  const place = await newPlace('mariadb', parent);
  makeData(place);
  const { restart, freeze, thaw, stop } = await ServerProcess.start(mariadb(settings), place);
  return { url: `mysql://root@127.0.0.1:${place.port}/genesis_fleet`, restart, freeze, thaw, stop };
}

function makeData(place: ServerPlace): void {
  const install = [
    '--no-defaults',
    `--datadir=${dataOf(place)}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
    ...AS_ROOT,
  ];
  const made = spawnSync('mariadb-install-db', install, { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`mariadb-install-db failed: ${made.stdout}${made.stderr}`);
}
