import { createClient } from 'redis';
import { afterAll, describe, it, onTestFinished } from 'vitest';
import type { TestEngine } from '../testing/engine.js';
import { parseRedisUrl, type RedisOptions } from './configuration.js';
import { openRedisMigrator, openRedisStore, type RedisStore } from './redis-store.js';
import { startOwnRedis } from './testing.js';

/** A group of tests on a Redis of their own; where there is none to be had, one that says so. */
export async function describeOnRedis(
  name: string,
  settings: readonly string[] | undefined,
  body: (redis: OwnRedis) => void,
): Promise<void> {
  const engine = await startOwnRedis(settings);
  describe(name, () => {
    if ('missing' in engine) {
      it.skip(`not run: ${engine.missing}`, () => {});
      return;
    }
    afterAll(() => engine.stop());
    body(new OwnRedis(engine));
  });
}

export class OwnRedis {
  constructor(
    readonly engine: Required<TestEngine>,
    readonly options = parseRedisUrl(engine.url),
  ) {}

  with(changes: Partial<RedisOptions>): OwnRedis {
    return new OwnRedis(this.engine, { ...this.options, ...changes });
  }

  async migrate(): Promise<void> {
    const migrator = await openRedisMigrator(this.options);
    await migrator.up();
    await migrator.close();
  }

  /** Opens a store that is closed with the test, on a schema that is made if need be. */
  async open(): Promise<RedisStore> {
    await this.migrate();
    return this.reopen();
  }

  async reopen(): Promise<RedisStore> {
    const store = await openRedisStore(this.options);
    onTestFinished(() => store.close());
    return store;
  }

  /** Says something to the engine that a store would not. */
  async say<T = unknown>(...args: string[]): Promise<T> {
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
