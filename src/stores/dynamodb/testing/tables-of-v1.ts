import { createHash } from 'node:crypto';
import type { CreateTableCommandInput, GlobalSecondaryIndex } from '@aws-sdk/client-dynamodb';
import { type EventEnvelope, msOf } from '../../../core/events/envelope.js';
import type { CommitOutcome, ProjectKey, StoredHead, Transaction } from '../../store.js';
import { DynamodbBlobs } from '../blobs.js';
import type { DynamoClient } from '../connection.js';
import { requestItem, untilValue } from '../items.js';
import {
  type DynamoItem,
  headKey,
  looseEventKey,
  META_KEY,
  memberKey,
  N,
  projectListKey,
  projectPartition,
  requestKey,
  rowKey,
  S,
  shareKey,
} from '../keys.js';

const FIELDS = ['subject', 'task_id', 'session_id', 'feature_id', 'edge', 'agent_id', 'event_type'] as const;
const BUCKET_SIZE = 100;
/** These positions are in one list, which is stored separately; a bucket of version 2 ends among them. */
const LISTED = { first: 1001, last: 1040 };

/** Writes tables as version 1 did. */
export class TablesOfV1 {
  /** The texts that are stored separately, with their tenants. */
  readonly separateTexts: { readonly tenant_id: string; readonly sha256: string }[] = [];

  constructor(private readonly dynamo: DynamoClient) {}

  private get eventsTable(): string {
    return this.dynamo.tables.state.replace(/state$/, 'events');
  }

  async create(): Promise<void> {
    const { client, driver, tables } = this.dynamo;
    const definitions = [
      tableOf(tables.state, { pk: 'S', sk: 'S' }),
      { ...tableOf(this.eventsTable, { pk: 'S', position: 'N' }), ...eventIndexes() },
      tableOf(tables.requests, { pk: 'S' }),
      tableOf(tables.blobs, { pk: 'S', chunk: 'N' }),
    ];
    for (const definition of definitions) await client.send(new driver.CreateTableCommand(definition));
    const meta = { ...META_KEY, version: N(1), incarnation: N(1), secret: S('ab'.repeat(32)) };
    await this.dynamo.putAll(tables.state, [meta]);
  }

  /** Writes what the transactions have produced: the heads, events, requests and permits of one project. */
  async fill(
    projectKey: ProjectKey,
    transactions: readonly Transaction[],
    outcomes: readonly CommitOutcome[],
    events: readonly EventEnvelope[],
    heads: readonly StoredHead[],
  ): Promise<void> {
    const { tables } = this.dynamo;
    await this.dynamo.putAll(this.eventsTable, await this.eventItems(projectKey, events));
    const loose = transactions.flatMap(({ loose_events }) => loose_events);
    await this.dynamo.putAll(tables.state, [
      rowItem(projectKey, transactions, events),
      { ...projectListKey(projectKey), project_id: S(projectKey.project_id) },
      ...heads.map((head) => ({
        ...headKey(projectKey, head.subject),
        seq: N(head.seq),
        head: S(JSON.stringify(head)),
      })),
      ...loose.map(({ event_id }) => looseEventKey(projectKey, event_id)),
      ...permitItems(projectKey, transactions),
    ]);
    const requests = transactions.flatMap((transaction, index) => {
      const { positions } = outcomes[index] as Extract<CommitOutcome, { kind: 'committed' }>;
      const eventPositions = positions.filter((position) => position !== null);
      return transaction.requests.map(({ key, digest, reply }) => ({
        ...requestKey(projectKey, key),
        ...requestItem({ key, digest, reply, positions: eventPositions, at_ms: Date.now() }),
      }));
    });
    await this.dynamo.putAll(tables.requests, requests);
  }

  private async eventItems(projectKey: ProjectKey, events: readonly EventEnvelope[]): Promise<DynamoItem[]> {
    const items = [];
    for (const event of events) {
      const { position } = event;
      if (position >= LISTED.first && position < LISTED.last) continue;
      const list = events.slice(LISTED.first - 1, LISTED.last).map(withoutPosition);
      const text =
        position === LISTED.last
          ? { event_sha256: S(await this.putBlob(projectKey, JSON.stringify(list))) }
          : { event: S(JSON.stringify(withoutPosition(event))) };
      items.push({
        ...eventKeyOf(projectKey, position),
        at_ms: N(Date.now()),
        ...indexAttributes(projectKey, event),
        ...text,
      });
    }
    return items;
  }

  private async putBlob({ tenant_id }: ProjectKey, text: string): Promise<string> {
    const sha256 = createHash('sha256').update(text).digest('hex');
    await new DynamodbBlobs(this.dynamo).put(tenant_id, sha256, Buffer.from(text));
    this.separateTexts.push({ tenant_id, sha256 });
    return sha256;
  }
}

const withoutPosition = ({ position: _, ...event }: EventEnvelope) => event;

const eventKeyOf = (projectKey: ProjectKey, position: number): DynamoItem => ({
  pk: S(`${projectPartition(projectKey)}#E#${Math.floor(position / BUCKET_SIZE)}`),
  position: N(position),
});

function indexAttributes(projectKey: ProjectKey, event: EventEnvelope): DynamoItem {
  const attributes: DynamoItem = {};
  for (const field of FIELDS) {
    const part = field === 'event_type' ? event.position % 4 : 0;
    if (event[field] !== undefined)
      attributes[`by_${field}`] = S(`${projectPartition(projectKey)}#${part}#${event[field]}`);
  }
  return attributes;
}

function rowItem(
  projectKey: ProjectKey,
  transactions: readonly Transaction[],
  events: readonly EventEnvelope[],
): DynamoItem {
  let [highMs, lateMs] = [0, 0];
  for (const { timestamp } of events) {
    highMs = Math.max(highMs, msOf(timestamp));
    lateMs = Math.max(lateMs, highMs - msOf(timestamp));
  }
  return {
    ...rowKey(projectKey),
    version: N(transactions.length),
    position: N(events.length),
    rules_seq: N(transactions.filter(({ changes_rules }) => changes_rules).length),
    now_ms: N(Date.now()),
    time_high_ms: N(highMs),
    late_max_ms: N(lateMs),
  };
}

function permitItems(projectKey: ProjectKey, transactions: readonly Transaction[]): DynamoItem[] {
  const permits = transactions.flatMap((transaction) => transaction.permits);
  const members = permits.map(({ scope, member, until_ms }) => ({
    ...memberKey(projectKey, scope, member),
    until_ms: untilValue(until_ms ?? 0),
  }));
  const shares = [...new Set(permits.map(({ scope }) => scope))].map((scope) => {
    const count = permits.filter((permit) => permit.scope === scope).length;
    return { ...shareKey(projectKey, scope), registered: N(count), spare: N(-count) };
  });
  return [...members, ...shares];
}

const tableOf = (TableName: string, keys: Record<string, 'S' | 'N'>): CreateTableCommandInput => ({
  TableName,
  BillingMode: 'PAY_PER_REQUEST',
  KeySchema: Object.keys(keys).map((AttributeName, index) => ({
    AttributeName,
    KeyType: index === 0 ? 'HASH' : 'RANGE',
  })),
  AttributeDefinitions: Object.entries(keys).map(([AttributeName, AttributeType]) => ({
    AttributeName,
    AttributeType,
  })),
});

function eventIndexes(): Pick<CreateTableCommandInput, 'AttributeDefinitions' | 'GlobalSecondaryIndexes'> {
  const names = FIELDS.map((field) => `by_${field}`);
  const keys = { pk: 'S', position: 'N', ...Object.fromEntries(names.map((name) => [name, 'S'])) };
  const { AttributeDefinitions } = tableOf('', keys as Record<string, 'S' | 'N'>);
  const GlobalSecondaryIndexes = names.map(
    (name): GlobalSecondaryIndex => ({
      IndexName: name,
      KeySchema: [
        { AttributeName: name, KeyType: 'HASH' },
        { AttributeName: 'position', KeyType: 'RANGE' },
      ],
      Projection: { ProjectionType: 'KEYS_ONLY' },
    }),
  );
  return { AttributeDefinitions, GlobalSecondaryIndexes };
}
