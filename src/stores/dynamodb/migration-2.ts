import { type EventEnvelope, msOf } from '../../core/events/envelope.js';
import { lineOf } from '../event-line.js';
import { type ProjectKey, StoreRefused } from '../store.js';
import { DynamodbBlobs } from './blobs.js';
import { completeBucketCount, lastOfBucket } from './bucket-index.js';
import type { DynamoClient } from './connection.js';
import { EventPages, pageItem } from './event-pages.js';
import { DynamodbEvents } from './events.js';
import { projectFromItem, projectItem } from './items.js';
import { bucketOf, type DynamoItem, N, numberOf, projectPartition, rowKey, S, textOf } from './keys.js';
import { eventsTableOfV1 } from './schema.js';
import { readText } from './stored-text.js';

/** The number of positions in a partition of version 1. */
const BUCKET_SIZE_OF_V1 = 100;
const ROW_KEY = /^T#([^#]*)#P#([^#]*)$/;

/** A row that is being converted has the last position that was copied, and the latest timestamp up to it. */
interface CopyProgress {
  readonly copied: number;
  readonly copied_high_ms: number;
}

/**
 * Copies the events of version 1 into pages and indexes them, project by project. First the row of a project gets the
 * form of version 2. From then on, a coordinator of version 1 cannot commit to the project: it takes a row without
 * `version` for a missing one, and tries to create a row, which fails because there is one. Every part of the migration
 * can be repeated, by several migrators at once.
 */
export class PageConversion {
  private readonly blobs: DynamodbBlobs;

  constructor(private readonly dynamo: DynamoClient) {
    this.blobs = new DynamodbBlobs(dynamo);
  }

  async run(): Promise<void> {
    const { client, driver, tables } = this.dynamo;
    let from: DynamoItem | undefined;
    do {
      const input = {
        TableName: tables.state,
        ConsistentRead: true,
        FilterExpression: 'sk = :row',
        ExpressionAttributeValues: { ':row': S('ROW') },
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
      };
      const page = await this.dynamo.withRetries(() => client.send(new driver.ScanCommand(input)));
      for (const { pk } of page.Items ?? []) {
        const [, tenant, project] = ROW_KEY.exec(textOf(pk)) ?? [];
        if (tenant === undefined || project === undefined) continue;
        await this.convertProject({
          tenant_id: decodeURIComponent(tenant),
          project_id: decodeURIComponent(project),
        });
      }
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
  }

  private async convertProject(projectKey: ProjectKey): Promise<void> {
    for (;;) {
      const row = await this.dynamo.get(this.dynamo.tables.state, rowKey(projectKey));
      if (row === undefined) return;
      if (row.version !== undefined) await this.convertRow(projectKey, row);
      else if (row.copied === undefined) return;
      else
        await this.copyBucket(projectKey, row).catch((error) =>
          this.throwUnlessCopiedFurther(error, projectKey, row),
        );
    }
  }

  /**
   * Another migrator may have copied the same events, and have deleted a text that this one was about to read. Then the
   * failure is ignored.
   */
  private async throwUnlessCopiedFurther(
    error: unknown,
    projectKey: ProjectKey,
    before: DynamoItem,
  ): Promise<void> {
    const row = await this.dynamo.get(this.dynamo.tables.state, rowKey(projectKey));
    if (row?.copied?.N === before.copied?.N) throw error;
  }

  /** Gives the row the form of version 2. After that, no coordinator of version 1 can commit to the project. */
  private async convertRow(projectKey: ProjectKey, row: DynamoItem): Promise<void> {
    const converted = projectItem({ ...projectFromItem(row), row_version: numberOf(row.version) });
    await this.dynamo.putIf({
      TableName: this.dynamo.tables.state,
      Item: { ...rowKey(projectKey), ...converted, copied: N(0), copied_high_ms: N(0) },
      ConditionExpression: '#version = :version',
      ExpressionAttributeNames: { '#version': 'version' },
      ExpressionAttributeValues: { ':version': row.version as DynamoItem[string] },
    });
  }

  /** Copies the events up to the end of a bucket, or of the project. */
  private async copyBucket(projectKey: ProjectKey, row: DynamoItem): Promise<void> {
    const { position } = projectFromItem(row);
    const copied = numberOf(row.copied);
    if (copied >= position) return this.finish(projectKey, copied);
    const bucket = bucketOf(copied + 1);
    const until = Math.min(position, lastOfBucket(bucket));
    const items = await this.itemsOfV1(projectKey, copied, until);
    const pages = new EventPages();
    let highMs = numberOf(row.copied_high_ms);
    for (const event of await this.eventsOfV1(items, projectKey, copied, until)) {
      pages.add(lineOf(event), event.position, highMs);
      const atMs = msOf(event.timestamp);
      if (atMs > highMs) highMs = atMs;
    }
    await this.writePages(projectKey, pages);
    if (bucket < completeBucketCount(position)) await this.events(projectKey).indexBucket(bucket);
    await this.advance(projectKey, copied, { copied: until, copied_high_ms: highMs });
    await this.dropTexts(projectKey, items, until);
  }

  /** Deletes the old copies of separately stored texts, because a later redaction would not find and redact them. */
  private async dropTexts(
    { tenant_id }: ProjectKey,
    items: readonly DynamoItem[],
    until: number,
  ): Promise<void> {
    for (const { position, event_sha256 } of items) {
      if (event_sha256 === undefined || numberOf(position) > until) continue;
      await this.blobs.drop(tenant_id, textOf(event_sha256));
    }
  }

  private async writePages(projectKey: ProjectKey, { pages }: EventPages): Promise<void> {
    const pageItems = pages.map((page) => pageItem(projectKey, page));
    for (const { external } of pageItems) {
      if (external !== null) await this.blobs.put(projectKey.tenant_id, external.sha256, external.bytes);
    }
    const items = pageItems.map(({ item }) => item);
    await this.dynamo.putAll(this.dynamo.tables.log, items);
  }

  /** The items with events in a range. A list of events may begin before the range, and end after it. */
  private async itemsOfV1(projectKey: ProjectKey, after: number, until: number): Promise<DynamoItem[]> {
    const items: DynamoItem[] = [];
    const bucketOfV1 = (position: number) => Math.floor(position / BUCKET_SIZE_OF_V1);
    for (let bucket = bucketOfV1(after + 1); bucket <= bucketOfV1(until); bucket += 1) {
      const pk = `${projectPartition(projectKey)}#E#${bucket}`;
      items.push(...(await this.dynamo.partition(eventsTableOfV1(this.dynamo.tables), pk)));
    }
    return items.filter((item) => numberOf(item.position) > after);
  }

  /** An item of version 1 holds one event, or a list of events that ends at its position. */
  private async eventsOfV1(
    items: readonly DynamoItem[],
    projectKey: ProjectKey,
    after: number,
    until: number,
  ): Promise<EventEnvelope[]> {
    const events: EventEnvelope[] = [];
    for (const item of items) {
      const parsed = JSON.parse(await readText(item, 'event', this.blobs, projectKey.tenant_id));
      const list = [parsed].flat() as EventEnvelope[];
      const first = numberOf(item.position) - list.length + 1;
      list.forEach((event, index) => {
        events.push({ ...event, position: first + index });
      });
    }
    const inRange = events.filter(({ position }) => position > after && position <= until);
    if (
      inRange.some(({ position }, index) => position !== after + 1 + index) ||
      inRange.length !== until - after
    ) {
      const { tenant_id, project_id } = projectKey;
      throw new StoreRefused(
        `An event of ${tenant_id}/${project_id} between the positions ${after + 1} and ${until} is missing. Restore the tables from a backup, then migrate again.`,
      );
    }
    return inRange;
  }

  private async advance(projectKey: ProjectKey, from: number, to: CopyProgress): Promise<void> {
    await this.dynamo.updateIf({
      TableName: this.dynamo.tables.state,
      Key: rowKey(projectKey),
      UpdateExpression: 'SET copied = :copied, copied_high_ms = :high',
      ConditionExpression: 'copied = :from',
      ExpressionAttributeValues: {
        ':from': N(from),
        ':copied': N(to.copied),
        ':high': N(to.copied_high_ms),
      },
    });
  }

  private async finish(projectKey: ProjectKey, copied: number): Promise<void> {
    await this.dynamo.updateIf({
      TableName: this.dynamo.tables.state,
      Key: rowKey(projectKey),
      UpdateExpression: 'SET indexed_buckets = :indexed REMOVE copied, copied_high_ms',
      ConditionExpression: 'copied = :copied',
      ExpressionAttributeValues: { ':indexed': N(completeBucketCount(copied)), ':copied': N(copied) },
    });
  }

  private events(projectKey: ProjectKey): DynamodbEvents {
    return new DynamodbEvents(this.dynamo, this.blobs, projectKey);
  }
}
