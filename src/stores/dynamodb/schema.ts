import type { CreateTableCommandInput, GlobalSecondaryIndex } from '@aws-sdk/client-dynamodb';

export const SCHEMA_VERSION = 1;

export interface Tables {
  /** Heads, project rows, permits, marks of loose events, and the store's metadata. */
  readonly state: string;
  readonly events: string;
  /** Requests and attempts: the only table whose items expire. */
  readonly requests: string;
  readonly blobs: string;
}

export const tablesOf = (namespace: string): Tables => ({
  state: `${namespace}-state`,
  events: `${namespace}-events`,
  requests: `${namespace}-requests`,
  blobs: `${namespace}-blobs`,
});

/** The indexed fields of events, each with its own index whose key begins with tenant and project. */
export const INDEXED_FIELDS = [
  'subject',
  'session_id',
  'task_id',
  'feature_id',
  'edge',
  'agent_id',
  'event_type',
] as const;
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

export function tableDefinitions(tables: Tables): readonly CreateTableCommandInput[] {
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
