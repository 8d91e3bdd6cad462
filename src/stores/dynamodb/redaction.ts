import type { EventEnvelope } from '../../core/events/envelope.js';
import type { ProjectKey } from '../store.js';
import type { DynamodbBlobs } from './blobs.js';
import type { DynamoClient } from './connection.js';
import { eventsFromItem } from './items.js';
import { bucketOf, bucketPartition, type DynamoItem, S, textOf } from './keys.js';
import { toStoredText } from './stored-text.js';

/** Rewrites event items with reduced payloads. Nothing else ever changes such an item, so no condition is needed. */
export class DynamodbRedaction {
  constructor(
    private readonly dynamo: DynamoClient,
    private readonly blobs: DynamodbBlobs,
    private readonly project: ProjectKey,
  ) {}

  async redact(events: readonly EventEnvelope[]): Promise<void> {
    const eventByPosition = new Map(events.map((event) => [event.position, event]));
    for (const bucket of new Set(events.map(({ position }) => bucketOf(position)))) {
      for (const item of await this.itemsOf(bucket)) await this.redactItem(item, eventByPosition);
    }
  }

  private itemsOf(bucket: number): Promise<DynamoItem[]> {
    return this.dynamo.all({
      TableName: this.dynamo.tables.events,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': S(bucketPartition(this.project, bucket)) },
    });
  }

  /** An item may hold a page of events, and its text may be stored separately: the old text is deleted last. */
  private async redactItem(
    item: DynamoItem,
    eventByPosition: ReadonlyMap<number, EventEnvelope>,
  ): Promise<void> {
    const { tenant_id } = this.project;
    const page = await eventsFromItem(item, this.blobs, tenant_id);
    if (!page.some(({ position }) => eventByPosition.has(position))) return;
    const kept = page.map((event) => withoutPosition(eventByPosition.get(event.position) ?? event));
    const text = toStoredText('event', page.length === 1 ? kept[0] : kept);
    if (text.external !== null) await this.blobs.put(tenant_id, text.external.sha256, text.external.bytes);
    const { event: _, event_sha256, ...rest } = item;
    await this.dynamo.putAll(this.dynamo.tables.events, [{ ...rest, ...text.attributes }]);
    if (event_sha256 !== undefined && textOf(event_sha256) !== text.external?.sha256) {
      await this.blobs.drop(tenant_id, textOf(event_sha256));
    }
  }
}

/** An item's key gives its position. */
function withoutPosition({ position: _, ...event }: EventEnvelope): Omit<EventEnvelope, 'position'> {
  return event;
}
