import type { EventEnvelope } from '../contract/events.js';

export type { EventEnvelope };

/** An event as decided, before the coordinator adds its ids and the store its position. */
export type EventDraft = Omit<EventEnvelope, 'event_id' | 'tenant_id' | 'project_id' | 'position'>;

/** An event to commit: everything except the position, which the commit assigns. */
export type NewEvent = Omit<EventEnvelope, 'position'>;

/**
 * Size of the cache of formatted times. A batch of commands has one time and a few leases, so the same times are
 * formatted and parsed repeatedly; caching the last few halves that cost.
 */
const RECENT_TIMES_MAX = 8;
const recentTimes: { at_ms: number; iso: string }[] = [];
let oldestIndex = 0;

export function isoTime(at_ms: number): string {
  for (const time of recentTimes) if (time.at_ms === at_ms) return time.iso;
  const iso = new Date(at_ms).toISOString();
  recentTimes[oldestIndex] = { at_ms, iso };
  oldestIndex = (oldestIndex + 1) % RECENT_TIMES_MAX;
  return iso;
}

export function msOf(iso: string): number {
  for (const time of recentTimes) if (time.iso === iso) return time.at_ms;
  return Date.parse(iso);
}
