import { type EventEnvelope, msOf } from '../core/events/envelope.js';
import type { EventQuery } from './store.js';

/**
 * Tests an event against `after`, `until_position` and every filter of a query; the caller applies `limit`. Times are
 * compared as instants, not as strings: `since` is inclusive, `until` exclusive.
 */
export function eventMatcher(query: EventQuery): (event: EventEnvelope) => boolean {
  const types = query.types === undefined ? null : new Set(query.types);
  const sinceMs = query.since === undefined ? Number.NEGATIVE_INFINITY : msOf(query.since);
  const untilMs = query.until === undefined ? Number.POSITIVE_INFINITY : msOf(query.until);
  const untilPosition = query.until_position ?? Number.POSITIVE_INFINITY;
  const isTimed = query.since !== undefined || query.until !== undefined;

  return (event) =>
    event.position > query.after &&
    event.position <= untilPosition &&
    (types === null || types.has(event.event_type)) &&
    FILTER_FIELDS.every((field) => query[field] === undefined || query[field] === event[field]) &&
    (!isTimed || isBetween(msOf(event.timestamp), sinceMs, untilMs));
}

/** The filters that match one field exactly, in the order of the parameters of the PostgreSQL functions. */
export const FILTER_FIELDS = ['subject', 'task_id', 'feature_id', 'edge', 'agent_id', 'session_id'] as const;
/** The filter fields, the most selective first. The first one that a query has determines the index to use. */
export const SELECTIVE_FIELDS = [
  'subject',
  'task_id',
  'session_id',
  'feature_id',
  'edge',
  'agent_id',
] as const;

const isBetween = (atMs: number, sinceMs: number, untilMs: number): boolean =>
  atMs >= sinceMs && atMs < untilMs;
