import { type EventEnvelope, msOf } from '../../core/events/envelope.js';
import { FILTER_FIELDS } from '../event-matcher.js';
import type { EventQuery, ProjectKey } from '../store.js';
import type { PostgresStatement } from './connection.js';
import { sql } from './queries.js';

/** Fields stored in columns, not in the body. */
export type EventRow = Readonly<
  Record<'position' | 'event_type' | (typeof FILTER_FIELDS)[number] | 'body', string | null>
>;

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

/** Each filter on a field has an index that ends with the position. */
export function eventStatement(
  namespace: string,
  { tenant_id, project_id }: ProjectKey,
  query: EventQuery,
): PostgresStatement {
  const values: unknown[] = [tenant_id, project_id];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const conditions = ['tenant_id = $1', 'project_id = $2', `position > ${parameter(query.after)}`];
  if (query.until_position !== undefined) conditions.push(`position <= ${parameter(query.until_position)}`);
  for (const field of FILTER_FIELDS) {
    if (query[field] !== undefined) conditions.push(`${field} = ${parameter(query[field])}`);
  }
  if (query.since !== undefined) conditions.push(`at_ms >= ${parameter(msOf(query.since))}`);
  if (query.until !== undefined) conditions.push(`at_ms < ${parameter(msOf(query.until))}`);
  const types = new Set(query.types);
  if (types.size === 1) conditions.push(`event_type = ${parameter([...types][0])}`);
  if (types.size > 1) conditions.push('event_type = type.name');
  const parts = { namespace, condition: conditions.join(' AND '), limit: parameter(query.limit) };
  if (types.size < 2) return { text: sql('events', parts), values };
  return { text: sql('events_of_types', { ...parts, types: parameter([...types]) }), values };
}
