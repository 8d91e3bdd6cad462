import { createHash } from 'node:crypto';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { ProjectKey } from '../store.js';
import type { IndexedField } from './schema.js';

export type Item = Record<string, AttributeValue>;
export type Key = Item;

export const S = (text: string): AttributeValue => ({ S: text });
export const N = (number: number): AttributeValue => ({ N: String(number) });

export const textOf = (value: AttributeValue | undefined): string => value?.S ?? '';
export const numberOf = (value: AttributeValue | undefined): number => Number(value?.N ?? 0);

/** Names are escaped, so that none of them can contain the sign between two parts of a key. */
const escaped = (name: string): string => encodeURIComponent(name);

const tenantPart = (tenant_id: string): string => `T#${escaped(tenant_id)}`;
export const projectPart = ({ tenant_id, project_id }: ProjectKey): string =>
  `${tenantPart(tenant_id)}#P#${escaped(project_id)}`;

/**
 * A partition of DynamoDB takes 1,000 writes a second. What a project or a scope has many of is spread over sixteen
 * of them, few enough to read them all in order.
 */
export const SHARDS = [...'0123456789abcdef'] as const;
const shardOf = (text: string): string => createHash('sha256').update(text).digest('hex')[0] as string;

const state = (pk: string, sk: string): Key => ({ pk: S(pk), sk: S(sk) });

export const META_KEY: Key = state('~store', 'META');
export const rowKey = (project: ProjectKey): Key => state(projectPart(project), 'ROW');

/** The projects of a tenant: one item each, written with the project's first transaction. */
export const projectsPart = tenantPart;
export const projectListKey = ({ tenant_id, project_id }: ProjectKey): Key =>
  state(projectsPart(tenant_id), `P#${escaped(project_id)}`);

export const headsPart = (project: ProjectKey, shard: string): string => `${projectPart(project)}#H#${shard}`;
export const headKey = (project: ProjectKey, subject: string): Key =>
  state(headsPart(project, shardOf(subject)), subject);

export const noteKey = (project: ProjectKey, event_id: string): Key =>
  state(`${projectPart(project)}#N#${event_id}`, 'NOTE');

const scopePart = (tenant_id: string, scope: string): string =>
  `${tenantPart(tenant_id)}#Q#${escaped(scope)}`;
export const sharesPart = scopePart;
export const LOT = 'LOT';
export const lotKey = (tenant_id: string, scope: string): Key => state(sharesPart(tenant_id, scope), LOT);
export const shareKey = ({ tenant_id, project_id }: ProjectKey, scope: string): Key =>
  state(sharesPart(tenant_id, scope), `P#${escaped(project_id)}`);

export const membersPart = (tenant_id: string, scope: string, shard: string): string =>
  `${scopePart(tenant_id, scope)}#${shard}`;
export function memberKey({ tenant_id, project_id }: ProjectKey, scope: string, member: string): Key {
  const sk = `${escaped(project_id)}#${member}`;
  return state(membersPart(tenant_id, scope, shardOf(sk)), sk);
}

export const requestKey = (project: ProjectKey, key: string): Key => ({
  pk: S(`${projectPart(project)}#R#${key}`),
});
export const attemptKey = (project: ProjectKey, attempt_id: string): Key => ({
  pk: S(`${projectPart(project)}#A#${attempt_id}`),
});

/** A hundred positions share a partition key: a reader knows which ones to ask, and no key stays hot for long. */
export const BUCKET = 100;
export const bucketOf = (position: number): number => Math.floor(position / BUCKET);
export const bucketPart = (project: ProjectKey, bucket: number): string =>
  `${projectPart(project)}#E#${bucket}`;
export const eventKey = (project: ProjectKey, position: number): Key => ({
  pk: S(bucketPart(project, bucketOf(position))),
  position: N(position),
});

/** Most events of a project are of few types: their index keys are spread, the others are not. */
const TYPE_SHARDS = 4;
const shardsOf = (field: IndexedField): number => (field === 'event_type' ? TYPE_SHARDS : 1);

export const indexKey = (project: ProjectKey, field: IndexedField, value: string, position: number): string =>
  `${projectPart(project)}#${position % shardsOf(field)}#${value}`;

/** Every key under which an index may have events of this value. */
export const indexKeys = (project: ProjectKey, field: IndexedField, value: string): string[] =>
  Array.from({ length: shardsOf(field) }, (_, shard) => indexKey(project, field, value, shard));

export const blobPart = (tenant_id: string, sha256: string): string => `${tenantPart(tenant_id)}#B#${sha256}`;
