import type { CreateTableCommandInput, UpdateTimeToLiveCommandInput } from '@aws-sdk/client-dynamodb';
import { SELECTIVE_FIELDS } from '../event-matcher.js';
import type { MigrationStep } from '../migrator.js';

export type TableNames = Readonly<ReturnType<typeof tablesOf>>;

export const tablesOf = (namespace: string) => ({
  /** Heads, project rows and lists, permits and their shares, marks of loose events, and the store's metadata. */
  state: `${namespace}-state`,
  /** Events, and their indexes. */
  log: `${namespace}-log`,
  /** Requests and attempts: the only table whose items expire. */
  requests: `${namespace}-requests`,
  blobs: `${namespace}-blobs`,
});

/** The table that held the events in version 1. */
export const eventsTableOfV1 = ({ log }: TableNames): string => log.replace(/log$/, 'events');

/** The indexed fields of events. */
export const INDEXED_FIELDS = [...SELECTIVE_FIELDS, 'event_type'] as const;
export type IndexedField = (typeof INDEXED_FIELDS)[number];

export const TTL_ATTRIBUTE = 'ttl';
/** The id of the attempt (one DynamoDB transaction, with a whole batch) that wrote the item. */
export const ATTEMPT_ATTRIBUTE = 'attempt';
/** Marks a row that exists only because a transaction was voided: the project does not exist yet. */
export const VOID_ATTRIBUTE = 'void';

function tableDefinition(name: string, keys: Readonly<Record<string, 'S' | 'N'>>): CreateTableCommandInput {
  const [hash, range] = Object.keys(keys) as [string, string | undefined];
  return {
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST',
    KeySchema: [
      { AttributeName: hash, KeyType: 'HASH' },
      ...(range === undefined ? [] : [{ AttributeName: range, KeyType: 'RANGE' as const }]),
    ],
    AttributeDefinitions: Object.entries(keys).map(([AttributeName, AttributeType]) => ({
      AttributeName,
      AttributeType,
    })),
  };
}

export const tableDefinitions = (tables: TableNames): readonly CreateTableCommandInput[] => [
  tableDefinition(tables.state, { pk: 'S', sk: 'S' }),
  tableDefinition(tables.requests, { pk: 'S' }),
  tableDefinition(tables.blobs, { pk: 'S', chunk: 'N' }),
  tableDefinition(tables.log, { pk: 'S', sk: 'N' }),
];

export const timeToLive = (tables: TableNames): UpdateTimeToLiveCommandInput => ({
  TableName: tables.requests,
  TimeToLiveSpecification: { Enabled: true, AttributeName: TTL_ATTRIBUTE },
});

export const SCHEMA_VERSION = 2;

export function migrationSteps(tables: TableNames): readonly MigrationStep[] {
  const [log, ...others] = [...tableDefinitions(tables)].reverse().map(statementOf) as [string, ...string[]];
  const expire = `UpdateTimeToLive ${JSON.stringify(timeToLive(tables))}`;
  const removal = `DeleteTable ${eventsTableOfV1(tables)}`;
  return [
    { version: 1, name: 'the tables', statements: [...others.reverse(), expire] },
    {
      version: SCHEMA_VERSION,
      name: 'events in pages',
      statements: [log, 'copy the events into it', removal],
    },
  ];
}

const statementOf = (definition: CreateTableCommandInput): string =>
  `CreateTable ${JSON.stringify(definition)}`;
