import { type EventEnvelope, msOf } from '../../core/events/envelope.js';
import type { EventQuery, ProjectKey } from '../store.js';
import type { PostgresStatement } from './connection.js';

/** The filters on one field; each has an index that ends with the position. */
const FIELDS = ['subject', 'task_id', 'feature_id', 'edge', 'agent_id', 'session_id'] as const;

/** Fields stored in columns, not in the body. */
const COLUMNS = ['position', 'event_type', ...FIELDS, 'body'] as const;

export type EventRow = Readonly<Record<(typeof COLUMNS)[number], string | null>>;

export function eventFromRow({ tenant_id, project_id }: ProjectKey, row: EventRow): EventEnvelope {
  const { position, body, ...columns } = row;
  const present = Object.entries(columns).filter(([, name]) => name !== null);
  return {
    position: Number(position),
    tenant_id,
    project_id,
    ...Object.fromEntries(present),
    ...JSON.parse(String(body)),
  };
}

export function eventStatement(
  namespace: string,
  { tenant_id, project_id }: ProjectKey,
  query: EventQuery,
): PostgresStatement {
  const values: unknown[] = [tenant_id, project_id];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const conditions = ['tenant_id = $1', 'project_id = $2', `position > ${parameter(query.after)}`];
  if (query.until_position !== undefined) conditions.push(`position <= ${parameter(query.until_position)}`);
  for (const field of FIELDS) {
    if (query[field] !== undefined) conditions.push(`${field} = ${parameter(query[field])}`);
  }
  if (query.since !== undefined) conditions.push(`at_ms >= ${parameter(msOf(query.since))}`);
  if (query.until !== undefined) conditions.push(`at_ms < ${parameter(msOf(query.until))}`);
  const types = query.types === undefined ? null : [...new Set(query.types)];
  if (types?.length === 1) conditions.push(`event_type = ${parameter(types[0])}`);
  const limit = parameter(query.limit);
  const page = (condition: string) =>
    `SELECT ${COLUMNS.join()} FROM ${namespace}.event WHERE ${condition} ORDER BY position LIMIT ${limit}`;
  if (types === null || types.length === 1) return { text: page(conditions.join(' AND ')), values };
  // One page per type, in index order, then the first of these: reads no more than could be returned.
  const ofType = page([...conditions, 'event_type = type.name'].join(' AND '));
  const text = `SELECT found.* FROM unnest(${parameter(types)}::text[]) AS type (name), LATERAL (${ofType}) AS found
ORDER BY position LIMIT ${limit}`;
  return { text, values };
}
