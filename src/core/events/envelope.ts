/** One event as every log, feed and page shows it. Field by field the envelope of the wire contract. */
export interface EventEnvelope {
  event_id: string;
  event_type: string;
  /** ISO-8601 UTC with milliseconds. Data, never order: order is `position` and `seq`. */
  timestamp: string;
  tenant_id: string;
  project_id: string;
  /** 1, 2, 3 … within the project, given in the commit, without gaps. */
  position: number;
  subject?: string;
  /** 1, 2, 3 … within the subject; only events that move its head carry one. */
  seq?: number;
  task_id?: string;
  feature_id?: string;
  edge?: string;
  agent_id: string;
  agent_role?: string;
  session_id?: string;
  generation?: number;
  request_id?: string;
  payload: Readonly<Record<string, unknown>>;
}

/** What a rule says happened, before the coordinator names it and the store gives it a place. */
export type EventDraft = Omit<EventEnvelope, 'event_id' | 'tenant_id' | 'project_id' | 'position'>;

/** What goes into a commit: everything but the position, which the commit gives. */
export type NewEvent = Omit<EventEnvelope, 'position'>;

/**
 * A batch of commands is decided at one time and asks for a few leases, so the same handful of times is written
 * and read again and again. Remembering the last few halves what times cost.
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
