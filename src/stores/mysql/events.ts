import { msOf } from '../../core/events/envelope.js';
import type { EventQuery, ProjectKey } from '../store.js';
import { nameBytes } from './name-encoding.js';

type SqlValue = Buffer | number;

interface SqlCondition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

interface EventSelect {
  readonly sql: string;
  readonly values: SqlValue[];
}

/** The filters on one field, the most selective first: the first one in a query chooses the index. */
const FIELDS = ['subject', 'task_id', 'session_id', 'feature_id', 'edge', 'agent_id'] as const;

/** The statement that answers a query from one index; null if nothing can match. */
export function selectEvents(project: ProjectKey, query: EventQuery): EventSelect | null {
  if (query.types?.length === 0 || query.limit <= 0) return null;
  const field = FIELDS.find((name) => query[name] !== undefined);
  const conditions = [rangeCondition(project, query), ...fieldConditions(query), ...timeConditions(query)];
  if (field !== undefined)
    return select(`by_${field}`, [...conditions, ...typeConditions(query)], query.limit);
  if (query.types !== undefined) return selectTypes(project, query, conditions);
  return select(isTimed(query) ? 'by_time' : 'PRIMARY', conditions, query.limit);
}

function select(index: string, conditions: readonly SqlCondition[], limit: number): EventSelect {
  return {
    sql: `SELECT position, event FROM events FORCE INDEX (${index})
      WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}
      ORDER BY position LIMIT ${Math.floor(limit)}`,
    values: conditions.flatMap(({ values }) => values),
  };
}

/**
 * Each type has an index in position order, so `limit` events of each type suffice. They are merged by position before
 * the texts are read: to merge texts, MariaDB creates a table on disk.
 */
function selectTypes(
  project: ProjectKey,
  query: EventQuery,
  conditions: readonly SqlCondition[],
): EventSelect {
  const branches = [...new Set(query.types)].map((type) =>
    select(
      'by_event_type',
      [...conditions, { sql: 'event_type = ?', values: [nameBytes(type)] }],
      query.limit,
    ),
  );
  if (branches.length === 1) return branches[0] as EventSelect;
  const positions = branches.map(({ sql }) => `(${sql.replace('position, event', 'position')})`);
  return {
    sql: `SELECT e.position, e.event FROM (
        ${positions.join(' UNION ALL ')} ORDER BY position LIMIT ${Math.floor(query.limit)}
      ) p STRAIGHT_JOIN events e ON e.tenant_id = ? AND e.project_id = ? AND e.position = p.position
      ORDER BY p.position`,
    values: [
      ...branches.flatMap(({ values }) => values),
      nameBytes(project.tenant_id),
      nameBytes(project.project_id),
    ],
  };
}

const rangeCondition = ({ tenant_id, project_id }: ProjectKey, query: EventQuery): SqlCondition => ({
  sql: 'tenant_id = ? AND project_id = ? AND position > ? AND position <= ?',
  values: [
    nameBytes(tenant_id),
    nameBytes(project_id),
    query.after,
    query.until_position ?? Number.MAX_SAFE_INTEGER,
  ],
});

const fieldConditions = (query: EventQuery): SqlCondition[] =>
  FIELDS.flatMap((field) => {
    const value = query[field];
    return value === undefined ? [] : [{ sql: `${field} = ?`, values: [nameBytes(value)] }];
  });

const typeConditions = ({ types }: EventQuery): SqlCondition[] =>
  types === undefined
    ? []
    : [{ sql: `event_type IN (${types.map(() => '?').join(', ')})`, values: types.map(nameBytes) }];

const isTimed = ({ since, until }: EventQuery): boolean => since !== undefined || until !== undefined;

function timeConditions({ since, until }: EventQuery): SqlCondition[] {
  const conditions: SqlCondition[] = [];
  if (since !== undefined) conditions.push({ sql: 'at_ms >= ?', values: [msOf(since)] });
  if (until !== undefined) conditions.push({ sql: 'at_ms < ?', values: [msOf(until)] });
  return conditions;
}
