import { msOf } from '../../core/events/envelope.js';
import { SELECTIVE_FIELDS } from '../event-matcher.js';
import type { EventQuery, ProjectKey } from '../store.js';
import type { SqlValue } from './connection.js';
import { nameBytes } from './name-encoding.js';
import { sql } from './queries.js';

type Condition = readonly [sql: string, value: SqlValue];

/** The statement that answers a query from one index; null if nothing can match. */
export function selectEvents(
  { tenant_id, project_id }: ProjectKey,
  query: EventQuery,
): { sql: string; values: SqlValue[] } | null {
  if (query.types?.length === 0 || query.limit <= 0) return null;
  const limit = Math.floor(query.limit);
  const key = [nameBytes(tenant_id), nameBytes(project_id)] as const;
  const common = [
    ['tenant_id = ?', key[0]],
    ['project_id = ?', key[1]],
    ['position > ?', query.after],
    ['position <= ?', query.until_position ?? Number.MAX_SAFE_INTEGER],
    ...filterConditions(query),
  ] as const;
  const select = (index: string, more: readonly Condition[] = [], columns = 'position, event') => {
    const conditions = [...common, ...more];
    const condition = conditions.map(([text]) => text).join(' AND ');
    return {
      sql: sql('events', { columns, index, condition, limit }),
      values: conditions.map(([, value]) => value),
    };
  };
  const types = [...new Set(query.types)].map(nameBytes);
  const field = SELECTIVE_FIELDS.find((name) => query[name] !== undefined);
  if (field !== undefined)
    return select(`by_${field}`, types.length === 0 ? [] : [['event_type IN (?)', types]]);
  if (types.length === 0) {
    const isTimed = query.since !== undefined || query.until !== undefined;
    return select(isTimed ? 'by_time' : 'PRIMARY');
  }
  if (types.length === 1) return select('by_event_type', [['event_type = ?', types[0] as Buffer]]);
  // Each type has an index in position order, so `limit` events of each type suffice.
  const pages = types.map((type) => select('by_event_type', [['event_type = ?', type]], 'position'));
  const union = pages.map((page) => `(${page.sql})`).join(' UNION ALL ');
  return {
    sql: sql('events_of_types', { pages: union, limit }),
    values: [...pages.flatMap(({ values }) => values), ...key],
  };
}

function filterConditions(query: EventQuery): Condition[] {
  const conditions: Condition[] = [];
  for (const field of SELECTIVE_FIELDS) {
    const name = query[field];
    if (name !== undefined) conditions.push([`${field} = ?`, nameBytes(name)]);
  }
  if (query.since !== undefined) conditions.push(['at_ms >= ?', msOf(query.since)]);
  if (query.until !== undefined) conditions.push(['at_ms < ?', msOf(query.until)]);
  return conditions;
}
