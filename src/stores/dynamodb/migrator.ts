import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import { type MigrationStep, type Migrator, stepsAfter } from '../migrator.js';
import { DynamoClient } from './connection.js';
import { ACTIVE_POLL_MS, describeTable, ignoreErrors } from './describe-table.js';
import { META_KEY, N, numberOf, S } from './keys.js';
import { PageConversion } from './migration-2.js';
import type { DynamodbOptions } from './options.js';
import { eventsTableOfV1, migrationSteps, SCHEMA_VERSION, tableDefinitions, timeToLive } from './schema.js';
import { TableFeatures } from './table-features.js';

export async function openDynamodbMigrator(options: DynamodbOptions): Promise<Migrator> {
  return new DynamodbMigrator(await DynamoClient.connect(options, Date.now));
}

/** Creates or converts the tables. Every part can be repeated. Of several migrators, only one changes the version. */
export class DynamodbMigrator implements Migrator {
  readonly features: TableFeatures;

  constructor(private readonly dynamo: DynamoClient) {
    this.features = new TableFeatures(dynamo);
  }

  async status(): Promise<{ found: number; wanted: number }> {
    const { tables } = this.dynamo;
    if ((await this.tableStatus(tables.state)) !== 'ACTIVE') return { found: 0, wanted: SCHEMA_VERSION };
    const meta = await this.dynamo.get(tables.state, META_KEY);
    return { found: numberOf(meta?.version), wanted: SCHEMA_VERSION };
  }

  async pending(): Promise<readonly MigrationStep[]> {
    const { found } = await this.status();
    return stepsAfter('The schema of the tables', found, migrationSteps(this.dynamo.tables));
  }

  async up(): Promise<readonly MigrationStep[]> {
    const steps = await this.pending();
    const isNew = steps.length === SCHEMA_VERSION;
    if (steps.length > 0) {
      for (const definition of tableDefinitions(this.dynamo.tables)) await this.createTable(definition);
      await this.enableRequestExpiry();
    }
    const isVersionMoved = steps.length > 0 && (isNew ? await this.create() : await this.convert());
    // An earlier migrator may have been interrupted before it deleted this table.
    if (!isNew) await this.deleteTable(eventsTableOfV1(this.dynamo.tables));
    return isVersionMoved ? steps : [];
  }

  async close(): Promise<void> {
    this.dynamo.close();
  }

  private create(): Promise<boolean> {
    const secret = S(randomBytes(32).toString('hex'));
    const meta = { ...META_KEY, version: N(SCHEMA_VERSION), incarnation: N(1), secret };
    return this.dynamo.putNew(this.dynamo.tables.state, meta);
  }

  private async convert(): Promise<boolean> {
    try {
      await new PageConversion(this.dynamo).run();
    } catch (error) {
      // Another migrator has finished meanwhile, and deleted what this one was about to read.
      if ((await this.status()).found === SCHEMA_VERSION) return false;
      throw error;
    }
    return this.dynamo.updateIf({
      TableName: this.dynamo.tables.state,
      Key: META_KEY,
      UpdateExpression: 'SET #version = :to',
      ConditionExpression: '#version = :from',
      ExpressionAttributeNames: { '#version': 'version' },
      ExpressionAttributeValues: { ':from': N(SCHEMA_VERSION - 1), ':to': N(SCHEMA_VERSION) },
    });
  }

  private async enableRequestExpiry(): Promise<void> {
    const { client, driver, tables } = this.dynamo;
    const enableTimeToLive = () => client.send(new driver.UpdateTimeToLiveCommand(timeToLive(tables)));
    // Time to live is enabled already, or another migrator has just enabled it.
    const ignoreDone = ignoreErrors('ValidationException', 'ResourceInUseException');
    await this.dynamo.withRetries(() => enableTimeToLive().catch(ignoreDone));
  }

  private async createTable(definition: CreateTableCommandInput): Promise<void> {
    const { client, driver } = this.dynamo;
    const create = () => client.send(new driver.CreateTableCommand(definition));
    await this.dynamo.withRetries(() => create().catch(ignoreErrors('ResourceInUseException')));
    while ((await this.tableStatus(definition.TableName as string)) !== 'ACTIVE') await sleep(ACTIVE_POLL_MS);
  }

  private async deleteTable(TableName: string): Promise<void> {
    if ((await this.tableStatus(TableName)) === undefined) return;
    const { client, driver } = this.dynamo;
    const remove = () => client.send(new driver.DeleteTableCommand({ TableName }));
    const ignoreDone = ignoreErrors('ResourceNotFoundException', 'ResourceInUseException');
    await this.dynamo.withRetries(() => remove().catch(ignoreDone));
  }

  private async tableStatus(TableName: string): Promise<string | undefined> {
    return (await describeTable(this.dynamo, TableName))?.TableStatus;
  }
}
