import { createClient } from 'redis';
import { afterAll, onTestFinished } from 'vitest';
import type { TestDatabase } from '../../testing/database.js';
import { onDatabase } from '../../testing/on-database.js';
import type { RedisOptions } from '../options.js';
import { openRedisMigrator, openRedisStore, type RedisStore } from '../redis-store.js';
import { optionsWithLongTimeouts, startOwnRedis } from '../testing.js';

/** Registers tests on an exclusive Redis, which they may kill, freeze and configure. */
export const onOwnRedis = (
  settings: readonly string[] | undefined,
  tests: (redis: RedisHarness) => void,
): Promise<void> =>
  onDatabase(
    'redis',
    () => startOwnRedis(settings),
    (database) => {
      afterAll(() => database.stop());
      tests(new RedisHarness(database));
    },
  );

export class RedisHarness {
  constructor(
    readonly database: Required<TestDatabase>,
    readonly options = optionsWithLongTimeouts(database.url),
  ) {}

  withOptions(changes: Partial<RedisOptions>): RedisHarness {
    return new RedisHarness(this.database, { ...this.options, ...changes });
  }

  async migrate(): Promise<void> {
    const migrator = await openRedisMigrator(this.options);
    await migrator.up();
    await migrator.close();
  }

  /** Opens a store that is closed when the test ends; creates the schema if needed. */
  async open(): Promise<RedisStore> {
    await this.migrate();
    return this.reopen();
  }

  async reopen(): Promise<RedisStore> {
    const store = await openRedisStore(this.options);
    onTestFinished(() => store.close());
    return store;
  }

  /** Sends the database a command that a store would not send. */
  async runCommand<T = unknown>(...args: string[]): Promise<T> {
    const { host, port } = this.options;
    const client = createClient({ socket: { host, port }, RESP: 2 });
    await client.connect();
    try {
      return await client.sendCommand<T & string>(args);
    } finally {
      client.destroy();
    }
  }
}
