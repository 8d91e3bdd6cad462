import { randomBytes } from 'node:crypto';
import { type MigrationStep, type Migrator, stepsAfter } from '../migrator.js';
import { RedisConnection } from './connection.js';
import { RedisKeys } from './keys.js';
import type { RedisOptions } from './options.js';
import { migrationSteps, SCHEMA, SCHEMA_VERSION } from './schema.js';

export async function openRedisMigrator(options: RedisOptions): Promise<Migrator> {
  const { meta } = new RedisKeys(options.namespace);
  return new RedisMigrator(await RedisConnection.open(options), meta);
}

class RedisMigrator implements Migrator {
  constructor(
    private readonly connection: RedisConnection,
    private readonly metaKey: string,
  ) {}

  async status(): Promise<{ found: number; wanted: number }> {
    const version = (await this.connection.send(['HGET', this.metaKey, 'version'])) as string | null;
    return { found: Number(version ?? 0), wanted: SCHEMA_VERSION };
  }

  async pending() {
    return stepsAfter(SCHEMA, (await this.status()).found, migrationSteps(this.metaKey));
  }

  async up(): Promise<readonly MigrationStep[]> {
    const taken: MigrationStep[] = [];
    for (const step of await this.pending()) {
      const secret = randomBytes(32).toString('hex');
      if ((await this.connection.run(step.script, [this.metaKey], [secret])) === 1) taken.push(step);
    }
    return taken;
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}
