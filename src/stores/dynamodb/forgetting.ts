import type { EventEnvelope } from '../../core/events/envelope.js';
import type { ProjectKey } from '../store.js';
import type { DynamodbBlobs } from './blobs.js';
import type { Dynamo } from './dynamo.js';
import { eventsOf } from './items.js';
import { bucketOf, bucketPart, type Item, S, textOf } from './keys.js';
import { textAs } from './texts.js';

/** Puts items of events back with less in them. Nobody else ever changes one, so no condition is needed. */
export class Forgetting {
  constructor(
    private readonly dynamo: Dynamo,
    private readonly blobs: DynamodbBlobs,
    private readonly project: ProjectKey,
  ) {}

  async forget(events: readonly EventEnvelope[]): Promise<void> {
    const wanted = new Map(events.map((event) => [event.position, event]));
    for (const bucket of new Set(events.map(({ position }) => bucketOf(position)))) {
      for (const item of await this.itemsOf(bucket)) await this.forgetIn(item, wanted);
    }
  }

  private itemsOf(bucket: number): Promise<Item[]> {
    return this.dynamo.all({
      TableName: this.dynamo.tables.events,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': S(bucketPart(this.project, bucket)) },
    });
  }

  /** An item may hold a page of events, and its text may be kept beside it: the old text goes last. */
  private async forgetIn(item: Item, wanted: ReadonlyMap<number, EventEnvelope>): Promise<void> {
    const { tenant_id } = this.project;
    const page = await eventsOf(item, this.blobs, tenant_id);
    if (!page.some(({ position }) => wanted.has(position))) return;
    const kept = page.map((event) => withoutPlace(wanted.get(event.position) ?? event));
    const text = textAs('event', page.length === 1 ? kept[0] : kept);
    if (text.beside !== null) await this.blobs.put(tenant_id, text.beside.sha256, text.beside.bytes);
    const { event: _, event_sha256, ...rest } = item;
    await this.dynamo.putAll(this.dynamo.tables.events, [{ ...rest, ...text.attributes }]);
    if (event_sha256 !== undefined && textOf(event_sha256) !== text.beside?.sha256) {
      await this.blobs.drop(tenant_id, textOf(event_sha256));
    }
  }
}

/** An item says where it is by its key. */
function withoutPlace({ position: _, ...event }: EventEnvelope): Omit<EventEnvelope, 'position'> {
  return event;
}
