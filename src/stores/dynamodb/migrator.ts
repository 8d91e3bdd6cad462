import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import type { MigrationStep, Migrator } from '../migrator.js';
import { StoreRefused } from '../store.js';
import type { DynamoClient } from './connection.js';
import { META_KEY, N, numberOf, S } from './keys.js';
import { SCHEMA_VERSION, TTL_ATTRIBUTE, tableDefinitions } from './schema.js';

const ACTIVE_POLL_MS = 500;

/** Creating the tables is idempotent; only one migrator puts the item with the version. */
export class DynamodbMigrator implements Migrator {
  constructor(private readonly dynamo: DynamoClient) {}

  async status(): Promise<{ found: number; wanted: number }> {
    return { found: await this.foundVersion(), wanted: SCHEMA_VERSION };
  }

  async pending(): Promise<readonly MigrationStep[]> {
    const found = await this.foundVersion();
    if (found > SCHEMA_VERSION) throw newerSchemaError(found);
    return found === SCHEMA_VERSION ? [] : [this.firstStep()];
  }

  async up(): Promise<readonly MigrationStep[]> {
    const steps = await this.pending();
    if (steps.length === 0) return [];
    for (const definition of tableDefinitions(this.dynamo.tables)) await this.createTable(definition);
    await this.enableTimeToLive();
    const meta = {
      ...META_KEY,
      version: N(SCHEMA_VERSION),
      incarnation: N(1),
      secret: S(randomBytes(32).toString('hex')),
    };
    return (await this.dynamo.putNew(this.dynamo.tables.state, meta)) ? steps : [];
  }

  async close(): Promise<void> {
    this.dynamo.close();
  }

  private async foundVersion(): Promise<number> {
    if ((await this.tableStatus(this.dynamo.tables.state)) !== 'ACTIVE') return 0;
    const meta = await this.dynamo.get(this.dynamo.tables.state, META_KEY);
    return numberOf(meta?.version);
  }

  private firstStep(): MigrationStep {
    const definitions = tableDefinitions(this.dynamo.tables);
    return {
      version: SCHEMA_VERSION,
      name: 'the tables',
      statements: [
        ...definitions.map((definition) => `CreateTable ${JSON.stringify(definition)}`),
        `UpdateTimeToLive ${JSON.stringify(this.timeToLive())}`,
      ],
    };
  }

  private async createTable(definition: CreateTableCommandInput): Promise<void> {
    const { client, driver, retried } = this.sender();
    await retried(() => client.send(new driver.CreateTableCommand(definition)).catch(ignoreExisting));
    while ((await this.tableStatus(definition.TableName as string)) !== 'ACTIVE') await sleep(ACTIVE_POLL_MS);
  }

  private async tableStatus(TableName: string): Promise<string | null> {
    const { client, driver, retried } = this.sender();
    return retried(() =>
      client.send(new driver.DescribeTableCommand({ TableName })).then(
        ({ Table }) => Table?.TableStatus ?? null,
        (error) => {
          if ((error as Error).name === 'ResourceNotFoundException') return null;
          throw error;
        },
      ),
    );
  }

  private async enableTimeToLive(): Promise<void> {
    const { client, driver, retried } = this.sender();
    await retried(() =>
      client.send(new driver.UpdateTimeToLiveCommand(this.timeToLive())).catch(ignoreEnabled),
    );
  }

  private timeToLive() {
    return {
      TableName: this.dynamo.tables.requests,
      TimeToLiveSpecification: { Enabled: true, AttributeName: TTL_ATTRIBUTE },
    };
  }

  private sender() {
    const { client, driver } = this.dynamo;
    return { client, driver, retried: this.dynamo.withRetries.bind(this.dynamo) };
  }
}

export const newerSchemaError = (found: number): StoreRefused =>
  new StoreRefused(
    `The tables are of version ${found}, newer than this program (${SCHEMA_VERSION}): update genesis-fleet.`,
  );

function ignoreExisting(error: Error): void {
  if (error.name !== 'ResourceInUseException') throw error;
}

/** Another migrator has just done the same. */
function ignoreEnabled(error: Error): void {
  if (error.name !== 'ValidationException' && error.name !== 'ResourceInUseException') throw error;
}
