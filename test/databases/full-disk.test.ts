import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { runGen } from '../../src/cli/testing/terminal.js';
import { isProblem } from '../../src/coordinator/index.js';
import { startOwnMysql } from '../../src/stores/mysql/testing.js';
import { startOwnPostgres } from '../../src/stores/postgres/testing.js';
import { startOwnRedis } from '../../src/stores/redis/testing.js';
import type { MissingDatabase, TestDatabase } from '../../src/stores/testing/database.js';
import { onDatabase } from '../../src/stores/testing/on-database.js';
import { onSmallDisk, type SmallDisk } from '../../src/stores/testing/small-disk.js';
import { planOf, unwrap } from '../support/coordinator-harness.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { DatabaseFleet } from './fleet.js';

type Start = (folder: string) => Promise<Required<TestDatabase> | MissingDatabase>;

/** The smallest disk on which each database starts. */
const DATABASES: Record<string, { mib: number; start: Start }> = {
  postgres: {
    mib: 100,
    start: (parent) => startOwnPostgres({ parent, settings: ['max_wal_size=32MB', 'min_wal_size=32MB'] }),
  },
  mysql: { mib: 200, start: (folder) => startOwnMysql(['--innodb-log-file-size=8M'], folder) },
  redis: { mib: 8, start: (folder) => startOwnRedis(undefined, folder) },
};

const TASKS = Array.from({ length: 900 }, (_, index) => `A-${String(index + 1).padStart(3, '0')}-work`);
/** Large enough that a file soon has to grow. */
const METADATA = { said: 'x'.repeat(3000) };

for (const [name, { mib, start }] of Object.entries(DATABASES)) {
  await onSmallDisk(`${name} on a full disk`, mib, async (disk) => {
    afterAll(() => disk.stop());
    await onDatabase(
      name,
      () => start(disk.folder),
      (database) => {
        test(`${name} leaves no partial write on a full disk, and continues once there is space`, async () => {
          onTestFinished(() => database.stop());
          const scenario = new FullDiskScenario(name, database, disk);
          await scenario.checkMigration();
          await scenario.checkWork();
        });
      },
    );
  });
}

class FullDiskScenario {
  constructor(
    private readonly name: string,
    private readonly database: Required<TestDatabase>,
    private readonly disk: SmallDisk,
  ) {}

  /**
   * Checks that `gen migrate` fails with one sentence and exit code 1 while the disk is full, and that the same command
   * creates the whole schema afterwards.
   */
  async checkMigration(): Promise<void> {
    const [cwd, store] = [await temporaryFolder(), ['--store', this.database.url]];
    this.disk.fill();
    const { code, out, err } = await runGen({ cwd }, 'migrate', ...store);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^[A-Z][^\n]+\n$/);
    expect(err).not.toMatch(/\n\s+at /);
    await this.freeDisk();
    expect((await runGen({ cwd }, 'up', '--port', '0', ...store)).err).toContain('gen migrate');
    expect(await runGen({ cwd }, 'migrate', ...store)).toMatchObject({ code: 0 });
  }

  async checkWork(): Promise<void> {
    const fleet = await DatabaseFleet.open(this.database.url, 1);
    await fleet.plan(planOf(...TASKS));
    const granted = [await claimTask(fleet, TASKS[0]!)];
    this.disk.fill();
    const refused =
      this.name === 'redis'
        ? await this.claimAcrossRestart(fleet)
        : await this.claimUntilRefused(fleet, granted);
    const subjects = new Set((await fleet.events()).map(({ subject }) => subject));
    expect(granted.filter((taskId) => !subjects.has(taskId))).toEqual([]);
    expect(refused.filter((taskId) => subjects.has(taskId))).toEqual([]);
    for (const taskId of refused) await claimTask(fleet, taskId);
    const verified = await runGen(
      { cwd: await temporaryFolder() },
      'verify',
      this.database.url,
      '--tenant',
      fleet.projectKey.tenant_id,
    );
    expect(verified).toMatchObject({ code: 0, out: expect.stringContaining('Every invariant holds') });
  }

  /** Claims succeed while the database has preallocated space; then they fail with UNAVAILABLE and have no effect. */
  private async claimUntilRefused(fleet: DatabaseFleet, granted: string[]): Promise<string[]> {
    const refused: string[] = [];
    for (const taskId of TASKS.slice(1)) {
      const reply = await claim(fleet, taskId);
      if (!isProblem(reply)) granted.push(taskId);
      else {
        expect(reply).toMatchObject({ problem: 'UNAVAILABLE' });
        refused.push(taskId);
      }
      if (refused.length === 3) break;
    }
    expect(refused).toHaveLength(3);
    await this.freeDisk();
    return refused;
  }

  /** Redis exits when it cannot sync. The pending claim is retried and takes effect once Redis is back. */
  private async claimAcrossRestart(fleet: DatabaseFleet): Promise<string[]> {
    const requestId = 'under-way';
    const underWay = claim(fleet, TASKS[1]!, requestId);
    await this.freeDisk();
    let reply = await underWay;
    // A claim that waits too long ends with an unknown outcome and is retried.
    while (isProblem(reply)) {
      expect(['UNKNOWN', 'UNAVAILABLE']).toContain(reply.problem);
      reply = await claim(fleet, TASKS[1]!, requestId);
    }
    expect(reply.success).toBe(true);
    return [];
  }

  /** Frees the disk, and restarts the database if it exited. */
  private async freeDisk(): Promise<void> {
    if (this.name === 'redis') while (await isAnswering(this.database.url)) await pause(20);
    this.disk.freeSpace();
    if (this.name === 'redis') await this.database.restart();
  }
}

const claim = (fleet: DatabaseFleet, task_id: string, request_id?: string) =>
  fleet.coordinatorAt(0).claims.claimTask(fleet.projectKey, {
    task_id,
    agent_id: 'a',
    session_id: 's-a',
    metadata: METADATA,
    ...(request_id === undefined ? {} : { request_id }),
  });

async function claimTask(fleet: DatabaseFleet, taskId: string): Promise<string> {
  expect(unwrap(await claim(fleet, taskId)).success).toBe(true);
  return taskId;
}

function isAnswering(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.destroy();
      resolve(true);
    }).once('error', () => resolve(false));
  });
}
