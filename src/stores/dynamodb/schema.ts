import type {
  CreateTableCommandInput,
  GlobalSecondaryIndex,
  UpdateTimeToLiveCommandInput,
} from '@aws-sdk/client-dynamodb';
import { SELECTIVE_FIELDS } from '../event-matcher.js';
import type { MigrationStep } from '../migrator.js';

export type TableNames = Readonly<ReturnType<typeof tablesOf>>;

export const tablesOf = (namespace: string) => ({
  /** Heads, project rows, permits, marks of loose events, and the store's metadata. */
  state: `${namespace}-state`,
  events: `${namespace}-events`,
  /** Requests and attempts: the only table whose items expire. */
  requests: `${namespace}-requests`,
  blobs: `${namespace}-blobs`,
});

/** The indexed fields of events, each with its own index whose key begins with tenant and project. */
export const INDEXED_FIELDS = [...SELECTIVE_FIELDS, 'event_type'] as const;
export type IndexedField = (typeof INDEXED_FIELDS)[number];

export const indexOf = (field: IndexedField): string => `by_${field}`;
export const TIME_INDEX = 'by_time';
export const TTL_ATTRIBUTE = 'ttl';

/** Indexes hold only keys: the events are read from the table, where reads are consistent. */
const index = (name: string, sort: string): GlobalSecondaryIndex => ({
  IndexName: name,
  KeySchema: [
    { AttributeName: name, KeyType: 'HASH' },
    { AttributeName: sort, KeyType: 'RANGE' },
  ],
  Projection: { ProjectionType: 'KEYS_ONLY' },
});

function table(
  name: string,
  keys: Readonly<Record<string, 'S' | 'N'>>,
  indexes: readonly GlobalSecondaryIndex[] = [],
  indexKeys: Readonly<Record<string, 'S' | 'N'>> = {},
): CreateTableCommandInput {
  const [hash, range] = Object.keys(keys) as [string, string | undefined];
  return {
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST',
    KeySchema: [
      { AttributeName: hash, KeyType: 'HASH' },
      ...(range === undefined ? [] : [{ AttributeName: range, KeyType: 'RANGE' as const }]),
    ],
    AttributeDefinitions: Object.entries({ ...keys, ...indexKeys }).map(([AttributeName, AttributeType]) => ({
      AttributeName,
      AttributeType,
    })),
    ...(indexes.length === 0 ? {} : { GlobalSecondaryIndexes: [...indexes] }),
  };
}

export function tableDefinitions(tables: TableNames): readonly CreateTableCommandInput[] {
  const names = INDEXED_FIELDS.map(indexOf);
  const indexes = [...names.map((name) => index(name, 'position')), index(TIME_INDEX, 'time_high_ms')];
  const indexKeys = Object.fromEntries([...names, TIME_INDEX].map((name) => [name, 'S' as const]));
  return [
    table(tables.state, { pk: 'S', sk: 'S' }),
    table(tables.events, { pk: 'S', position: 'N' }, indexes, { ...indexKeys, time_high_ms: 'N' }),
    table(tables.requests, { pk: 'S' }),
    table(tables.blobs, { pk: 'S', chunk: 'N' }),
  ];
}

export const timeToLive = (tables: TableNames): UpdateTimeToLiveCommandInput => ({
  TableName: tables.requests,
  TimeToLiveSpecification: { Enabled: true, AttributeName: TTL_ATTRIBUTE },
});

export function migrationSteps(tables: TableNames): readonly MigrationStep[] {
  const creations = tableDefinitions(tables).map((definition) => `CreateTable ${JSON.stringify(definition)}`);
  const statements = [...creations, `UpdateTimeToLive ${JSON.stringify(timeToLive(tables))}`];
  return [{ version: 1, name: 'the tables', statements }];
}
