import { randomBytes } from 'node:crypto';
import { type MigrationStep, type Migrator, stepsAfter } from '../migrator.js';
import { RedisConnection } from './connection.js';
import { RedisKeys } from './keys.js';
import { Conversion } from './migration-2.js';
import type { RedisOptions } from './options.js';
import { migrationSteps, SCHEMA, SCHEMA_VERSION } from './schema.js';

export async function openRedisMigrator(options: RedisOptions): Promise<Migrator> {
  return new RedisMigrator(await RedisConnection.open(options), options.namespace);
}

class RedisMigrator implements Migrator {
  private readonly metaKey: string;

  constructor(
    private readonly connection: RedisConnection,
    private readonly namespace: string,
  ) {
    this.metaKey = new RedisKeys(namespace).meta;
  }

  async status(): Promise<{ found: number; wanted: number }> {
    const version = (await this.connection.send(['HGET', this.metaKey, 'version'])) as string | null;
    return { found: Number(version ?? 0), wanted: SCHEMA_VERSION };
  }

  async pending() {
    return stepsAfter(SCHEMA, (await this.status()).found, migrationSteps(this.metaKey));
  }

  async up(): Promise<readonly MigrationStep[]> {
    const appliedSteps: MigrationStep[] = [];
    const { found } = await this.status();
    for (const step of await this.pending()) {
      // A store that has just been created has nothing to convert.
      if (step.needsConversion && found > 0) await new Conversion(this.connection, this.namespace).run();
      const argument = step.version === 1 ? randomBytes(32).toString('hex') : String(step.version);
      if ((await this.connection.run(step.script, [this.metaKey], [argument])) === 1) appliedSteps.push(step);
    }
    return appliedSteps;
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}
