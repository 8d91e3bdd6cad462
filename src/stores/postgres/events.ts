import { type EventEnvelope, msOf, type NewEvent } from '../../core/events/envelope.js';
import { FILTER_FIELDS } from '../event-matcher.js';
import type { EventQuery, ProjectKey } from '../store.js';
import type { PostgresStatement } from './connection.js';
import { encodeLines, encodeNames, encodeNumbers } from './encoding.js';
import { EVENT_NAME_FIELDS, type EventNameField } from './event-names.js';
import { sql } from './queries.js';

/** The fields of an event that have columns, in addition to the fields of its key. */
const EVENT_COLUMNS = ['event_type', ...FILTER_FIELDS] as const;
type EventColumn = (typeof EVENT_COLUMNS)[number];

const KEY_COLUMNS = ['tenant_id', 'project_id', 'position'];
const IN_COLUMNS = Object.fromEntries([...KEY_COLUMNS, ...EVENT_COLUMNS].map((field) => [field, undefined]));

/** A row of an event: the fields that have columns, and the body with the others. */
export type EventRow = Readonly<Record<'position' | EventColumn | 'body', string | null>> & {
  /** The event's `task_id` equals its subject; then the column `task_id` is null. */
  readonly task_is_subject: boolean;
};

/** The event as JSON, without the fields that have columns; `eventFromRow` adds them back. */
export const bodyOf = (event: NewEvent): string => JSON.stringify({ ...event, ...IN_COLUMNS });

/** Events in the form that the commit functions accept, column by column. */
export const eventColumns = (events: readonly NewEvent[]): string[] => [
  encodeNumbers(events.map(({ timestamp }) => timeOf(timestamp))),
  encodeNumbers(events.map((event) => (isSubjectTask(event) ? 't' : 'f'))),
  ...EVENT_COLUMNS.map((field) =>
    encodeNames(
      events.map((event) => (field === 'task_id' && isSubjectTask(event) ? undefined : event[field])),
    ),
  ),
  encodeLines(events.map(bodyOf)),
];

const isSubjectTask = ({ task_id, subject }: NewEvent): boolean =>
  task_id !== undefined && task_id === subject;

function timeOf(timestamp: string): number | string {
  const atMs = msOf(timestamp);
  return Number.isNaN(atMs) ? 'NULL' : atMs;
}

export function eventFromRow({ tenant_id, project_id }: ProjectKey, row: EventRow): EventEnvelope {
  const { position, body, task_is_subject, ...columns } = row;
  const fields = task_is_subject ? { ...columns, task_id: columns.subject } : columns;
  const present = Object.entries(fields).filter(([, name]) => name !== null);
  return {
    position: Number(position),
    tenant_id,
    project_id,
    ...Object.fromEntries(present),
    ...JSON.parse(String(body)),
  };
}

/**
 * The statement for a query. Events of a subject are found by the index of subjects, those of another name by the index of
 * names, and others by time or position.
 */
export function eventStatement(
  namespace: string,
  { tenant_id, project_id }: ProjectKey,
  query: EventQuery,
): PostgresStatement {
  const values: unknown[] = [tenant_id, project_id];
  const addParameter = (value: unknown): string => `$${values.push(value)}`;
  const byName = (field: EventNameField): string =>
    sql('events_named', { namespace, parameters: nameParameters(query, field).map(addParameter).join() });
  const byColumns = (...more: readonly string[]): string => {
    const conditions = [...columnConditions(query, addParameter), ...more];
    return sql('events', {
      namespace,
      condition: conditions.join(' AND '),
      limit: addParameter(query.limit),
    });
  };
  const { task_id } = query;
  if (task_id !== undefined) {
    const as_subject = byColumns(`subject = ${addParameter(task_id)}`, 'task_is_subject');
    return {
      text: sql('events_of_task', {
        as_subject,
        as_task: byName('task_id'),
        limit: addParameter(query.limit),
      }),
      values,
    };
  }
  const field =
    query.subject === undefined
      ? EVENT_NAME_FIELDS.find((each) => namesIn(query, each) !== undefined)
      : undefined;
  return { text: field === undefined ? byColumns() : byName(field), values };
}

function columnConditions(query: EventQuery, addParameter: (value: unknown) => string): string[] {
  const conditions = [`position > ${addParameter(query.after)}`];
  if (query.until_position !== undefined)
    conditions.push(`position <= ${addParameter(query.until_position)}`);
  for (const field of FILTER_FIELDS) {
    if (query[field] !== undefined && field !== 'task_id')
      conditions.push(`${field} = ${addParameter(query[field])}`);
  }
  if (query.since !== undefined) conditions.push(`at_ms >= ${addParameter(msOf(query.since))}`);
  if (query.until !== undefined) conditions.push(`at_ms < ${addParameter(msOf(query.until))}`);
  if (query.types !== undefined) conditions.push(`event_type = ANY (${addParameter(query.types)}::text[])`);
  return conditions;
}

/** The parameters of `events_named`, after the project. */
const nameParameters = (query: EventQuery, field: EventNameField): unknown[] => [
  query.after,
  query.until_position ?? null,
  query.limit,
  EVENT_NAME_FIELDS.indexOf(field),
  namesIn(query, field),
  query.types ?? null,
  ...FILTER_FIELDS.map((name) => query[name] ?? null),
  query.since === undefined ? null : msOf(query.since),
  query.until === undefined ? null : msOf(query.until),
];

const namesIn = (query: EventQuery, field: EventNameField): readonly string[] | undefined => {
  if (field === 'event_type') return query.types;
  const name = query[field];
  return name === undefined ? undefined : [name];
};
