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
export const unescapeName = (part: string): string => decodeURIComponent(part);

/** Lists the projects of a tenant, one item each. Every commit writes the item while the project has no events yet. */
export const tenantPartition = (tenantId: string): string => `T#${escapeName(tenantId)}`;
export const projectPartition = ({ tenant_id, project_id }: ProjectKey): string =>
  `${tenantPartition(tenant_id)}#P#${escapeName(project_id)}`;

/**
 * A DynamoDB partition accepts 1,000 writes a second. Large collections of a project or a scope are spread over sixteen
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

/** Lists the scopes whose permits are on heads, and projects whose permits on heads have ended and were removed. */
export const PERMITS_ON_HEADS_PARTITION = '~held';
export const SCOPE_ON_HEADS = 'SCOPE';
export const ENDED_PERMITS = 'ENDED';
export const scopeOnHeadsKey = (tenantId: string, scope: string): DynamoKey =>
  stateKey(PERMITS_ON_HEADS_PARTITION, `${SCOPE_ON_HEADS}#${escapeName(tenantId)}#${escapeName(scope)}`);
/** `projectPart` is the escaped id of the project. */
export const endedPermitsKey = (tenantId: string, projectPart: string): DynamoKey =>
  stateKey(PERMITS_ON_HEADS_PARTITION, `${ENDED_PERMITS}#${escapeName(tenantId)}#${projectPart}`);

export const requestKey = (projectKey: ProjectKey, key: string): DynamoKey => ({
  pk: S(`${projectPartition(projectKey)}#R#${key}`),
});
export const attemptKey = (projectKey: ProjectKey, attemptId: string): DynamoKey => ({
  pk: S(`${projectPartition(projectKey)}#A#${attemptId}`),
});

/**
 * Number of positions that share a partition key, which readers can compute; no key stays hot for long. These
 * positions are also indexed together: a larger number means fewer items of the index, and more events not indexed yet.
 */
export const BUCKET_SIZE = 1024;
export const bucketOf = (position: number): number => Math.floor(position / BUCKET_SIZE);
export const bucketPartition = (projectKey: ProjectKey, bucket: number): string =>
  `${projectPartition(projectKey)}#E#${bucket}`;
/** A page of events is stored under the position of its last event. */
export const pageKey = (projectKey: ProjectKey, lastPosition: number): DynamoKey => ({
  pk: S(bucketPartition(projectKey, bucketOf(lastPosition))),
  sk: N(lastPosition),
});

/** DynamoDB limits a key to 2 KB, so long values are cut. Two values may share a key: readers compare the events. */
const INDEXED_CHARS_MAX = 300;
export const indexPartition = (projectKey: ProjectKey, field: IndexedField, value: string): string =>
  `${projectPartition(projectKey)}#I#${field}#${value.slice(0, INDEXED_CHARS_MAX)}`;
export const timePartition = (projectKey: ProjectKey): string => `${projectPartition(projectKey)}#I#time`;

export const blobPartition = (tenantId: string, sha256: string): string =>
  `${tenantPartition(tenantId)}#B#${sha256}`;
