import { createHash } from 'node:crypto';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { ProjectKey } from '../store.js';
import type { IndexedField } from './schema.js';

export type DynamoItem = Record<string, AttributeValue>;
export type DynamoKey = DynamoItem;

export const S = (text: string): AttributeValue => ({ S: text });
export const N = (value: number): AttributeValue => ({ N: String(value) });

export const textOf = (value: AttributeValue | undefined): string => value?.S ?? '';
export const numberOf = (value: AttributeValue | undefined): number => Number(value?.N ?? 0);

/** Names are escaped, so that none can contain the separator of a key. */
const escapeName = (name: string): string => encodeURIComponent(name);

/** Holds the projects of a tenant: one item each, written with the project's first transaction. */
export const tenantPartition = (tenantId: string): string => `T#${escapeName(tenantId)}`;
export const projectPartition = ({ tenant_id, project_id }: ProjectKey): string =>
  `${tenantPartition(tenant_id)}#P#${escapeName(project_id)}`;

/**
 * A DynamoDB partition takes 1,000 writes a second. Large collections of a project or a scope are spread over sixteen
 * partitions, few enough to read them all in order.
 */
export const SHARDS = [...'0123456789abcdef'] as const;
const shardOf = (text: string): string => createHash('sha256').update(text).digest('hex')[0] as string;

const stateKey = (pk: string, sk: string): DynamoKey => ({ pk: S(pk), sk: S(sk) });

export const META_KEY: DynamoKey = stateKey('~store', 'META');
export const rowKey = (projectKey: ProjectKey): DynamoKey => stateKey(projectPartition(projectKey), 'ROW');

export const projectListKey = ({ tenant_id, project_id }: ProjectKey): DynamoKey =>
  stateKey(tenantPartition(tenant_id), `P#${escapeName(project_id)}`);

export const headsPartition = (projectKey: ProjectKey, shard: string): string =>
  `${projectPartition(projectKey)}#H#${shard}`;
export const headKey = (projectKey: ProjectKey, subject: string): DynamoKey =>
  stateKey(headsPartition(projectKey, shardOf(subject)), subject);

export const looseEventKey = (projectKey: ProjectKey, eventId: string): DynamoKey =>
  stateKey(`${projectPartition(projectKey)}#N#${eventId}`, 'NOTE');

export const sharesPartition = (tenantId: string, scope: string): string =>
  `${tenantPartition(tenantId)}#Q#${escapeName(scope)}`;
export const ALLOCATION_SK = 'LOT';
export const allocationKey = (tenantId: string, scope: string): DynamoKey =>
  stateKey(sharesPartition(tenantId, scope), ALLOCATION_SK);
export const shareKey = ({ tenant_id, project_id }: ProjectKey, scope: string): DynamoKey =>
  stateKey(sharesPartition(tenant_id, scope), `P#${escapeName(project_id)}`);

export const membersPartition = (tenantId: string, scope: string, shard: string): string =>
  `${sharesPartition(tenantId, scope)}#${shard}`;
export function memberKey({ tenant_id, project_id }: ProjectKey, scope: string, member: string): DynamoKey {
  const sk = `${escapeName(project_id)}#${member}`;
  return stateKey(membersPartition(tenant_id, scope, shardOf(sk)), sk);
}

export const requestKey = (projectKey: ProjectKey, key: string): DynamoKey => ({
  pk: S(`${projectPartition(projectKey)}#R#${key}`),
});
export const attemptKey = (projectKey: ProjectKey, attemptId: string): DynamoKey => ({
  pk: S(`${projectPartition(projectKey)}#A#${attemptId}`),
});

/** A hundred positions share a partition key: readers can compute it, and no key stays hot for long. */
export const BUCKET_SIZE = 100;
export const bucketOf = (position: number): number => Math.floor(position / BUCKET_SIZE);
export const bucketPartition = (projectKey: ProjectKey, bucket: number): string =>
  `${projectPartition(projectKey)}#E#${bucket}`;
export const eventKey = (projectKey: ProjectKey, position: number): DynamoKey => ({
  pk: S(bucketPartition(projectKey, bucketOf(position))),
  position: N(position),
});

/** Most events of a project have one of a few types, so the index keys of types are sharded; the others are not. */
const TYPE_SHARDS = 4;
const shardsOf = (field: IndexedField): number => (field === 'event_type' ? TYPE_SHARDS : 1);

export const indexKey = (
  projectKey: ProjectKey,
  field: IndexedField,
  value: string,
  position: number,
): string => `${projectPartition(projectKey)}#${position % shardsOf(field)}#${value}`;

/** Every key under which an index may hold events with this value. */
export const indexKeys = (projectKey: ProjectKey, field: IndexedField, value: string): string[] =>
  Array.from({ length: shardsOf(field) }, (_, shard) => indexKey(projectKey, field, value, shard));

export const blobPartition = (tenantId: string, sha256: string): string =>
  `${tenantPartition(tenantId)}#B#${sha256}`;
