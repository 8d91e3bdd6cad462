import { setTimeout as sleep } from 'node:timers/promises';
import type { UpdateContinuousBackupsCommandInput, UpdateTableCommandInput } from '@aws-sdk/client-dynamodb';
import type { DatabaseFeature, DatabaseFeatureStep, DatabaseFeatures } from '../migrator.js';
import { StoreUnavailable } from '../store.js';
import type { DynamoClient } from './connection.js';
import { ACTIVE_POLL_MS, describeTable, ignoreErrors } from './describe-table.js';

/** How many times to check whether the backups of a new table are available, or whether a change has ended. */
const POLLS_MAX = 240;

interface TableChange extends DatabaseFeatureStep {
  apply(): Promise<void>;
}

/** Features of DynamoDB that are not part of the schema: they cost money, and the operator decides. */
export class TableFeatures implements DatabaseFeatures {
  constructor(private readonly dynamo: DynamoClient) {}

  async pending(wanted: readonly DatabaseFeature[]): Promise<readonly DatabaseFeatureStep[]> {
    return (await this.pendingChanges(wanted)).map(stepOf);
  }

  async enable(wanted: readonly DatabaseFeature[]): Promise<readonly DatabaseFeatureStep[]> {
    const changes = await this.pendingChanges(wanted);
    for (const { apply } of changes) await apply();
    return changes.map(stepOf);
  }

  private async pendingChanges(wanted: readonly DatabaseFeature[]): Promise<readonly TableChange[]> {
    const changes: TableChange[] = [];
    if (wanted.includes('point_in_time_recovery')) {
      // A store is restored as a whole, so all of its tables need it.
      for (const table of Object.values(this.dynamo.tables))
        if (!(await this.isRecoverable(table))) changes.push(this.recoveryChange(table));
    }
    // Only the log is streamed: heads and permits are derived from its events.
    const { log } = this.dynamo.tables;
    if (wanted.includes('streams') && !(await this.isStreaming(log))) changes.push(this.streamChange(log));
    return changes;
  }

  private async isRecoverable(TableName: string): Promise<boolean> {
    const { client, driver } = this.dynamo;
    const describe = () => client.send(new driver.DescribeContinuousBackupsCommand({ TableName }));
    const ignoreMissing = ignoreErrors('TableNotFoundException', 'ResourceNotFoundException');
    const backups = await this.dynamo.withRetries(() => describe().catch(ignoreMissing));
    const recovery = backups?.ContinuousBackupsDescription?.PointInTimeRecoveryDescription;
    return recovery?.PointInTimeRecoveryStatus === 'ENABLED';
  }

  private recoveryChange(table: string): TableChange {
    const input: UpdateContinuousBackupsCommandInput = {
      TableName: table,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
    };
    const { client, driver } = this.dynamo;
    const apply = async (): Promise<void> => {
      for (let poll = 0; poll < POLLS_MAX; poll += 1) {
        const update = () => client.send(new driver.UpdateContinuousBackupsCommand(input));
        // A new table has no backups yet, and another migrator may be doing the same.
        const ignoreEarly = ignoreErrors('ContinuousBackupsUnavailableException', 'TableInUseException');
        if ((await this.dynamo.withRetries(() => update().catch(ignoreEarly))) !== undefined) return;
        await sleep(ACTIVE_POLL_MS);
      }
      throw new StoreUnavailable(`Backups of ${table} are still not available. Run gen migrate again.`);
    };
    const statement = `UpdateContinuousBackups ${JSON.stringify(input)}`;
    return { feature: 'point_in_time_recovery', table, statement, apply };
  }

  /** Whether the table has a stream. One with another view type counts, and is not changed: another program may read it. */
  private async isStreaming(table: string): Promise<boolean> {
    return (await describeTable(this.dynamo, table))?.StreamSpecification?.StreamEnabled === true;
  }

  private streamChange(table: string): TableChange {
    const input: UpdateTableCommandInput = {
      TableName: table,
      // Events are only added, so old images would show nothing, except during retention.
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' },
    };
    const { client, driver } = this.dynamo;
    const apply = async (): Promise<void> => {
      const update = () => client.send(new driver.UpdateTableCommand(input));
      // Another migrator has done the same, or is doing it.
      const ignoreDone = ignoreErrors('ResourceInUseException', 'ValidationException');
      await this.dynamo.withRetries(() => update().catch(ignoreDone));
      for (let poll = 0; poll < POLLS_MAX; poll += 1) {
        const description = await describeTable(this.dynamo, table);
        if (description?.TableStatus === 'ACTIVE' && description.StreamSpecification?.StreamEnabled === true)
          return;
        await sleep(ACTIVE_POLL_MS);
      }
      throw new StoreUnavailable(`The stream of ${table} is still not enabled. Run gen migrate again.`);
    };
    return { feature: 'streams', table, statement: `UpdateTable ${JSON.stringify(input)}`, apply };
  }
}

const stepOf = ({ feature, table, statement }: DatabaseFeatureStep): DatabaseFeatureStep => ({
  feature,
  table,
  statement,
});
