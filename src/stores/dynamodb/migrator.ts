import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import { type MigrationStep, type Migrator, stepsAfter } from '../migrator.js';
import { DynamoClient } from './connection.js';
import { META_KEY, N, numberOf, S } from './keys.js';
import type { DynamodbOptions } from './options.js';
import { migrationSteps, tableDefinitions, timeToLive } from './schema.js';

const ACTIVE_POLL_MS = 500;

export async function openDynamodbMigrator(options: DynamodbOptions): Promise<Migrator> {
  return new DynamodbMigrator(await DynamoClient.connect(options, Date.now));
}

/** Creating the tables is idempotent; only one migrator puts the item with the version. */
export class DynamodbMigrator implements Migrator {
  constructor(private readonly dynamo: DynamoClient) {}

  async status(): Promise<{ found: number; wanted: number }> {
    const { tables } = this.dynamo;
    const wanted = migrationSteps(tables).length;
    if ((await this.tableStatus(tables.state)) !== 'ACTIVE') return { found: 0, wanted };
    return { found: numberOf((await this.dynamo.get(tables.state, META_KEY))?.version), wanted };
  }

  async pending(): Promise<readonly MigrationStep[]> {
    const { found } = await this.status();
    return stepsAfter('The schema of the tables', found, migrationSteps(this.dynamo.tables));
  }

  async up(): Promise<readonly MigrationStep[]> {
    const { client, driver, tables } = this.dynamo;
    const steps = await this.pending();
    if (steps.length === 0) return [];
    for (const definition of tableDefinitions(tables)) await this.createTable(definition);
    const expire = () => client.send(new driver.UpdateTimeToLiveCommand(timeToLive(tables)));
    // Another migrator may have just done the same.
    const isDone = ignore('ValidationException', 'ResourceInUseException');
    await this.dynamo.withRetries(() => expire().catch(isDone));
    const secret = S(randomBytes(32).toString('hex'));
    const meta = { ...META_KEY, version: N(steps.length), incarnation: N(1), secret };
    return (await this.dynamo.putNew(tables.state, meta)) ? steps : [];
  }

  async close(): Promise<void> {
    this.dynamo.close();
  }

  private async createTable(definition: CreateTableCommandInput): Promise<void> {
    const { client, driver } = this.dynamo;
    const create = () => client.send(new driver.CreateTableCommand(definition));
    await this.dynamo.withRetries(() => create().catch(ignore('ResourceInUseException')));
    while ((await this.tableStatus(definition.TableName as string)) !== 'ACTIVE') await sleep(ACTIVE_POLL_MS);
  }

  private async tableStatus(TableName: string): Promise<string | undefined> {
    const { client, driver } = this.dynamo;
    const describe = () => client.send(new driver.DescribeTableCommand({ TableName }));
    const found = this.dynamo.withRetries(() => describe().catch(ignore('ResourceNotFoundException')));
    return (await found)?.Table?.TableStatus;
  }
}

const ignore =
  (...names: string[]) =>
  (error: Error): undefined => {
    if (!names.includes(error.name)) throw error;
  };
